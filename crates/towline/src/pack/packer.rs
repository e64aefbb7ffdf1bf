//! The steps of packing, in order.

use rayon::prelude::*;

use super::arrange::Arrangement;
use super::cut::Cutter;
use super::enough::{Needs, fixed_bytes};
use super::fourier::{self, Mapping};
use super::intern::Features;
use super::labels::{Labels, RowStatistics};
use super::range::Range;
use super::rows::{Place, WaitingRows};
use super::scale::Statistics;
use super::several::SeveralTargets;
use super::weights::WeightFile;
use super::{PackError, PackOptions};
use crate::block::{Layout, RowInfo};
use crate::budget::Budget;
use crate::input::{InputError, Progress, RowBatch, RowSource};
use crate::nearby::large_zeroed;
use crate::store::features::{self, FeatureMap, NewFeatures, Scaling};
use crate::store::manifest::{FileEntry, Manifest, Scale, Source, StoredRows};
use crate::store::writer::{CheckedFile, StoreWriter};
use crate::store::{DiskStore, StoreError};

/// Everything that is known while rows come in.
pub struct Packer<'a> {
    /// Where the rows come from; the generation is still open.
    sources: Vec<Source>,
    options: &'a PackOptions,
    budget: &'a Budget,
    progress: &'a Progress,
    source: Option<Box<dyn RowSource>>,
    named: bool,
    rows: u64,
    /// Values of all rows.
    values: u64,
    /// Values of the longest row.
    longest: u64,
    range: Range,
    /// Rows of older generations.
    old_rows: u64,
    labels: Labels,
    targets: SeveralTargets,
    weighted: bool,
    grouped: bool,
    features: Features,
    statistics: Statistics,
    waiting: Option<WaitingRows>,
    threads: rayon::ThreadPool,
    old: Option<(Manifest, FeatureMap)>,
}

impl<'a> Packer<'a> {
    pub fn new(
        sources: Vec<Source>,
        open: impl FnOnce() -> Result<Box<dyn RowSource>, InputError>,
        writer: &StoreWriter,
        options: &'a PackOptions,
        budget: &'a Budget,
        progress: &'a Progress,
    ) -> Result<Self, PackError> {
        let place = options.shuffle_seed.map_or(Place::Kept, Place::Shuffled);
        let layout = Arrangement::layout(options.precision);
        // What is always needed is set aside before the reader starts, which takes what it finds for a long row.
        let waiting = WaitingRows::new(place, layout, writer.folder(), options.threads.max(1), budget)?;
        let source = open()?;
        let named = source.features_are_named();
        let mut features = Features::new(named, writer.folder(), budget)?;
        fourier::check(options, writer.old().map(DiskStore::manifest))?;
        let mut old = None;
        if let Some(store) = writer.old() {
            let manifest = store.manifest();
            check_fits(manifest, named, options)?;
            let map = fourier::known_features(store, budget)?;
            features.load(&map, budget)?;
            old = Some((manifest.clone(), map));
        }
        let threads = rayon::ThreadPoolBuilder::new().num_threads(options.threads.max(1)).build();
        let threads =
            threads.map_err(|error| StoreError::io(writer.folder(), "start threads")(std::io::Error::other(error)))?;
        let old_rows = old.as_ref().map_or(0, |(manifest, _)| manifest.rows);
        Ok(Packer {
            sources,
            options,
            budget,
            progress,
            source: Some(source),
            named,
            rows: 0,
            values: 0,
            longest: 0,
            range: Range::new(options.fourier),
            old_rows,
            labels: old.as_ref().map_or_else(Labels::default, |(m, _)| Labels::resume(&m.labels, m.rows)),
            targets: old.as_ref().map_or_else(SeveralTargets::default, |(m, _)| SeveralTargets::resume(m)),
            weighted: old.as_ref().is_some_and(|(m, _)| m.weighted),
            grouped: old.as_ref().is_some_and(|(m, _)| m.grouped),
            features,
            statistics: Statistics::new(if old.is_some() { Scale::None } else { options.scale }, budget)?,
            waiting: Some(waiting),
            threads,
            old,
        })
    }

    /// What the data will ask for, judging by what has been read.
    pub fn needs(&self) -> Needs {
        let read = match self.progress.total_bytes {
            Some(total) if total > 0 => self.progress.read_bytes() as f64 / total as f64,
            // Nothing is known of the rest; it may be as much again.
            _ => 0.5,
        };
        let (features, map) = (self.features.expected(read), self.options.fourier.as_ref());
        Needs {
            features,
            longest: self.longest.max(map.map_or(0, |map| u64::from(map.features()))),
            mapped_bytes: map.map_or(0, |map| Mapping::needed_bytes(map, features, self.options.threads)),
            scaled: self.is_scaled(),
            fixed_bytes: fixed_bytes(self.options),
        }
    }

    /// Reads all rows, and returns what the reader has to say about them.
    pub fn read_rows(&mut self) -> Result<Vec<String>, PackError> {
        let Some(mut source) = self.source.take() else { return Ok(Vec::new()) };
        let mut weights = self.options.weights.as_ref().map(|file| WeightFile::open(file, self.budget)).transpose()?;
        let mut batch = RowBatch::default();
        while source.next_batch(&mut batch)? {
            if self.options.stop.is_requested() {
                return Err(PackError::Interrupted);
            }
            if let Some(weights) = &mut weights {
                weights.fill(&mut batch)?;
            }
            self.targets.add(&batch, source.target_names())?;
            self.add_batch(&mut batch)?;
        }
        self.range.end()?;
        let input = || self.sources.first().map_or_else(String::new, |source| source.name.clone());
        if self.rows == 0 {
            return Err(PackError::NoRows { input: input() });
        }
        // What a table of numbers without a header looks like to a reader of libsvm text.
        if self.targets.count() > 1 && self.features.len() == 0 {
            return Err(PackError::Mismatch {
                problem: format!("{}: rows have {} targets and no features", input(), self.targets.count()),
                remedy: "for tables use --format csv".into(),
            });
        }
        if let Some(weights) = weights {
            weights.finish(self.rows)?;
        }
        Ok(source.remarks())
    }

    fn add_batch(&mut self, batch: &mut RowBatch) -> Result<(), PackError> {
        if !self.labels.resolve(batch) {
            return Err(PackError::Mismatch {
                problem: "some labels are numbers and others are text".into(),
                remedy: "pack inputs with the same kind of labels".into(),
            });
        }
        self.longest = (0..batch.rows()).map(|i| batch.range(i).len() as u64).fold(self.longest, u64::max);
        self.values += batch.values.len() as u64;
        self.range.add(batch)?;
        self.resolve_features(batch)?;
        self.features.count(batch, self.rows, self.is_scaled());
        self.add_statistics(batch)?;
        self.weighted |= !batch.weights.is_empty();
        self.grouped |= !batch.groups.is_empty();
        let (progress, waiting) = (self.progress, &mut self.waiting);
        let expected = |held| expected_bytes(progress, held);
        if let Some(waiting) = waiting {
            waiting.set_targets(self.targets.count());
            for i in 0..batch.rows() {
                let info = RowInfo {
                    label: batch.labels[i],
                    weight: batch.weights.get(i).copied().unwrap_or(1.0),
                    group: batch.groups.get(i).copied().unwrap_or(0),
                    id: self.old_rows + self.rows,
                };
                let range = batch.range(i);
                waiting.push(info, batch.further_of(i), &batch.keys[range.clone()], &batch.values[range], expected)?;
                self.rows += 1;
            }
        }
        Ok(())
    }

    /// Whether features are scaled, which takes exact counts.
    fn is_scaled(&self) -> bool {
        matches!(self.options.scale, Scale::Minmax | Scale::Standard)
    }

    /// Where the feature table needs room, waiting rows make way and go to disk.
    fn resolve_features(&mut self, batch: &mut RowBatch) -> Result<(), PackError> {
        let mut done = 0;
        let refused = match self.features.resolve(batch, &mut done, self.budget) {
            Err(StoreError::Budget(refused)) => refused,
            other => return Ok(other?),
        };
        match &mut self.waiting {
            Some(waiting) if waiting.held_bytes() > 0 => {
                waiting.make_room(expected_bytes(self.progress, waiting.held_bytes()))?;
                Ok(self.features.resolve(batch, &mut done, self.budget)?)
            }
            _ => Err(refused.into()),
        }
    }

    fn add_statistics(&mut self, batch: &RowBatch) -> Result<(), PackError> {
        // A refusal comes before the first change, so that the same call can be made again.
        if self.statistics.add(batch, self.features.len()).is_ok() {
            return Ok(());
        }
        if let Some(waiting) = &mut self.waiting {
            waiting.make_room(expected_bytes(self.progress, waiting.held_bytes()))?;
        }
        Ok(self.statistics.add(batch, self.features.len())?)
    }

    /// Writes all blocks and files, and makes the store visible.
    pub fn write_store(mut self, mut writer: StoreWriter) -> Result<(Manifest, usize), PackError> {
        self.features.drop_lookup()?;
        // Order and column of each feature; where features are scaled, by what, and what becomes of an absent value.
        let feature_bytes = 4 + 4 + if self.is_scaled() { 16 + 16 } else { 0 };
        let _paid = self.budget.reserve("feature order", self.features.len() as u64 * feature_bytes)?;
        let order = self.column_order();
        let arrangement = self.arrangement(&order)?;
        let Some(mut waiting) = self.waiting.take() else { return Err(PackError::Interrupted) };
        waiting.all_read()?;
        let (values_per_row, old) = (self.values as f64 / self.rows as f64, self.old.as_ref().map(|(old, _)| old));
        let features = (&mut self.features, &arrangement);
        let mapping = Mapping::new(self.options, old, features, values_per_row, self.budget)?;
        let mut cutter =
            Cutter::new(&arrangement, mapping.as_ref(), self.options, &mut writer, self.longest, self.budget)?;
        self.threads.install(|| {
            waiting.drain(|slabs, order| cutter.add(slabs, order))?;
            cutter.finish()
        })?;
        let Cutter { stored_layout, values, statistics, .. } = cutter;
        let manifest = self.manifest(stored_layout, values, &statistics, mapping.as_ref(), &writer);
        let feature_map = match mapping.as_ref().and_then(Mapping::written_features) {
            Some(features) => fourier::write_features(features, &writer)?,
            None => self.write_features(&order, &arrangement, &writer)?,
        };
        let blocks = writer.blocks();
        Ok((writer.finish(manifest, feature_map)?, blocks))
    }

    /// Feature ids in the order of their columns. Columns of older generations stay; new ones follow.
    fn column_order(&self) -> Vec<u32> {
        let old = self.features.old() as u32;
        let mut order: Vec<u32> = (0..old).collect();
        if self.options.renumber {
            order.append(&mut self.features.by_frequency());
            return order;
        }
        order.extend(old..self.features.len() as u32);
        if !self.named {
            let (numbers, new) = (self.features.numbers(), &mut order[old as usize..]);
            self.threads.install(|| new.par_sort_unstable_by_key(|&id| numbers[id as usize]));
        }
        order
    }

    fn arrangement(&self, order: &[u32]) -> Result<Arrangement, PackError> {
        let mut columns = large_zeroed::<u32>(order.len());
        order.iter().enumerate().for_each(|(column, &id)| columns[id as usize] = column as u32);
        let (scale, precision) = (self.options.scale, self.options.precision);
        let targets = self.targets.count();
        let mut arrangement = Arrangement { columns, scaling: Vec::new(), fill: Vec::new(), scale, precision, targets };
        if matches!(scale, Scale::None | Scale::Rows) {
            return Ok(arrangement);
        }
        arrangement.scaling = match &self.old {
            // Rows that are stored already cannot be scaled again: what was decided then holds, and new features stay as they are.
            Some((_, map)) => (0..order.len() as u32)
                .map(|column| if (column as usize) < map.len() { map.scaling(column) } else { None })
                .map(|scaling| scaling.unwrap_or(Scaling { shift: 0.0, factor: 1.0 }))
                .collect(),
            None => order
                .iter()
                .map(|&id| {
                    self.statistics.scaling(id as usize, u64::from(self.features.counts()[id as usize]), self.rows)
                })
                .collect(),
        };
        for (column, &Scaling { shift, factor }) in arrangement.scaling.iter().enumerate() {
            if !factor.is_finite() || factor <= 0.0 {
                return Err(self.cannot_scale(order[column]));
            }
            let always_present = u64::from(self.features.counts()[order[column] as usize]) == self.rows;
            if shift != 0.0 && !always_present {
                arrangement.fill.push((column as u32, precision.round(-shift * factor)));
            }
        }
        let (filled, values) = (arrangement.fill.len() as u64 * self.rows, self.value_count());
        if filled > 8 * values {
            return Err(PackError::Mismatch {
                problem: format!(
                    "--scale minmax would turn {values} values into about {filled}: {} features have negative values, so that 0 moves",
                    arrangement.fill.len()
                ),
                remedy: "use --scale standard or --scale rows, which keep zeros".into(),
            });
        }
        Ok(arrangement)
    }

    fn cannot_scale(&self, id: u32) -> PackError {
        // Features with names are known by their number only while they are read.
        let feature = self.features.numbers().get(id as usize).map_or(u64::from(id), |&number| number);
        PackError::Mismatch {
            problem: format!("the values of feature {feature} are too far apart or too close together to be scaled"),
            remedy: "use --scale rows, or scale the data before packing".into(),
        }
    }

    fn value_count(&self) -> u64 {
        self.features.counts().iter().map(|&count| u64::from(count)).sum()
    }

    fn write_features(
        &mut self,
        order: &[u32],
        arrangement: &Arrangement,
        writer: &StoreWriter,
    ) -> Result<Option<CheckedFile>, PackError> {
        let old = self.features.old();
        let count = (order.len() - old) as u64;
        if count == 0 && self.old.is_some() {
            return Ok(None);
        }
        let mut file = writer.small_file("features", "map")?;
        let mut scaling = arrangement.scaling[old.min(arrangement.scaling.len())..].iter().copied();
        let scaling: Option<&mut dyn Iterator<Item = Scaling>> =
            if arrangement.scaling.is_empty() { None } else { Some(&mut scaling) };
        if let Some((ends, text)) = self.features.names()? {
            // Names of older generations come first in the file and are in their own maps already.
            let skipped = if old == 0 { 0 } else { ends[old - 1] };
            std::io::Seek::seek(text, std::io::SeekFrom::Start(skipped))
                .map_err(StoreError::io(writer.folder(), "read feature names"))?;
            let ends: Vec<u64> = ends[old..].iter().map(|end| end - skipped).collect();
            let mut places = order[old..].iter().map(|&id| id - old as u32);
            features::write(&mut file, count, NewFeatures::Names { places: &mut places, ends: &ends, text }, scaling)?;
        } else {
            let numbers = self.features.numbers();
            let mut numbers = order[old..].iter().map(|&id| numbers[id as usize]);
            features::write(&mut file, count, NewFeatures::Numbers(&mut numbers), scaling)?;
        }
        Ok(Some(file))
    }

    /// All rows as they lie in the blocks, of which the new ones have `values` values in this layout.
    fn written_rows(&self, layout: Option<Layout>, values: u64, mapping: Option<&Mapping>) -> StoredRows {
        let old = self.old.as_ref().map(|(manifest, _)| manifest.stored());
        let mapped = mapping.and_then(Mapping::written_features);
        let (features, named) = mapped.map_or((self.features.len() as u64, self.named), |features| (features, false));
        let layouts = [layout, old.map(|rows| rows.layout)];
        let layout = layouts.into_iter().flatten().reduce(Layout::join).unwrap_or(Layout::SPARSE_F32);
        // New columns make the rows of older blocks sparse.
        let grew = old.is_some_and(|rows| rows.features != features);
        StoredRows {
            features,
            values: old.map_or(0, |rows| rows.values) + values,
            layout: Layout { dense: layout.dense && !grew, ..layout },
            named_features: named,
        }
    }

    /// The manifest; the writer adds the files.
    fn manifest(
        &self,
        layout: Option<Layout>,
        values: u64,
        statistics: &RowStatistics,
        mapping: Option<&Mapping>,
        writer: &StoreWriter,
    ) -> Manifest {
        let generation = writer.generation();
        let old = self.old.as_ref().map(|(manifest, _)| manifest);
        let mut rows = old.map_or_else(RowStatistics::default, |m| RowStatistics::resume(m.row_summary, m.rows));
        rows.join(statistics);
        let mut sources = old.map(|m| m.sources.clone()).unwrap_or_default();
        sources.extend(self.sources.iter().map(|source| Source { generation, ..source.clone() }));
        let written = self.written_rows(layout, values, mapping);
        let made = mapping.and_then(|mapping| mapping.made_rows(self.old_rows + self.rows));
        let StoredRows { features, values, layout, named_features } = made.unwrap_or(written);
        Manifest {
            // Older programs read what they know.
            version: if made.is_some() { 3 } else { 1 + u64::from(self.targets.count() > 1) },
            generation,
            created_by: format!("towline {}", env!("CARGO_PKG_VERSION")),
            rows: self.old_rows + self.rows,
            values,
            features,
            layout,
            precision: self.options.precision,
            scale: self.options.scale,
            fourier: self.options.fourier,
            made_from: made.map(|_| written),
            shuffle_seed: old.map_or(self.options.shuffle_seed, |m| m.shuffle_seed),
            renumbered: old.map_or(self.options.renumber, |m| m.renumbered),
            named_features,
            weighted: self.weighted,
            grouped: self.grouped,
            labels: self.labels.summary(),
            targets: self.targets.summaries(),
            row_summary: rows.summary(),
            sources,
            table: FileEntry { name: String::new(), bytes: 0, checksum: 0 },
            feature_maps: Vec::new(),
            block_files: Vec::new(),
        }
    }
}

/// What all rows will take in memory, judging by how much of the input has made `held` bytes of them.
fn expected_bytes(progress: &Progress, held: u64) -> u64 {
    const UNKNOWN: u64 = 64;
    match progress.total_bytes {
        Some(total) if progress.read_bytes() > 0 => (held as f64 * total as f64 / progress.read_bytes() as f64) as u64,
        _ => held * UNKNOWN,
    }
}

/// Rows can only be added with the settings that the store was made with.
fn check_fits(old: &Manifest, named: bool, options: &PackOptions) -> Result<(), PackError> {
    let mismatch = |problem: String, remedy: &str| Err(PackError::Mismatch { problem, remedy: remedy.into() });
    // Features of a map have forgotten what they were made from.
    let stored_named = old.stored().named_features;
    if stored_named != named && (old.fourier.is_none() || old.made_from.is_some()) {
        let kind = |named| if named { "named columns" } else { "numbered features" };
        return mismatch(
            format!("the store has {} and the input has {}", kind(stored_named), kind(named)),
            "append the same kind of input",
        );
    }
    if old.precision != options.precision {
        return mismatch(
            format!("the store was packed with --precision {:?}", old.precision).to_lowercase(),
            "append with the same precision",
        );
    }
    if old.scale != options.scale {
        return mismatch(
            format!("the store was packed with --scale {:?}", old.scale).to_lowercase(),
            "append with the same --scale",
        );
    }
    Ok(())
}
