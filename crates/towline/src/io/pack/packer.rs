//! The steps of packing, in order.

use super::arrange::Arrangement;
use super::enough::{Needs, fixed_bytes};
use super::fourier::{self, Mapping};
use super::intern::Features;
use super::labels::Labels;
use super::numbers::Numbers;
use super::range::Range;
use super::rows::{Place, WaitingRows};
use super::scale::Rule;
use super::several::SeveralTargets;
use super::weights::WeightFile;
use super::{PackError, PackOptions};
use crate::block::RowInfo;
use crate::budget::Budget;
use crate::input::{InputError, Progress, RowBatch, RowSource};
use crate::schema::Schema;
use crate::store::features::FeatureMap;
use crate::store::manifest::{Manifest, Scale, Source};
use crate::store::writer::StoreWriter;
use crate::store::{DiskStore, StoreError};

/// Everything that is known while rows come in.
pub struct Packer<'a> {
    /// Where the rows come from; the generation is still open.
    pub(super) sources: Vec<Source>,
    pub(super) options: &'a PackOptions,
    pub(super) budget: &'a Budget,
    pub(super) progress: &'a Progress,
    source: Option<Box<dyn RowSource>>,
    pub(super) named: bool,
    pub(super) rows: u64,
    /// Values of all rows.
    pub(super) values: u64,
    /// Values of the longest row.
    pub(super) longest: u64,
    range: Range,
    /// Rows of older generations.
    pub(super) old_rows: u64,
    pub(super) labels: Labels,
    pub(super) targets: SeveralTargets,
    pub(super) weighted: bool,
    pub(super) grouped: bool,
    pub(super) features: Features,
    /// How values are scaled, which may have been left open.
    pub(super) scale: Scale,
    /// Rows that must have a feature, as for those that are there already unless something was asked for.
    pub(super) min_count: u32,
    pub(super) numbers: Numbers,
    /// What the columns of a table are; known when all rows have been read.
    pub(super) schema: Option<Schema>,
    pub(super) waiting: Option<WaitingRows>,
    pub(super) threads: rayon::ThreadPool,
    /// What rows are added to; with the features of a table, whose numbers and n-grams are scaled as they were.
    pub(super) old: Option<(Manifest, Option<FeatureMap>)>,
}

impl<'a> Packer<'a> {
    pub fn new(
        sources: Vec<Source>,
        open: impl FnOnce(Option<&Manifest>) -> Result<Box<dyn RowSource>, InputError>,
        writer: &StoreWriter,
        options: &'a PackOptions,
        budget: &'a Budget,
        progress: &'a Progress,
    ) -> Result<Self, PackError> {
        let place = options.shuffle_seed.map_or(Place::Kept, Place::Shuffled);
        let layout = Arrangement::layout(options.precision);
        // What is always needed is set aside before the reader starts, which takes what it finds for a long row.
        let mut waiting = WaitingRows::new(place, layout, writer.folder(), options.threads.max(1), budget)?;
        let source = open(writer.old().map(DiskStore::manifest))?;
        let named = source.features_are_named();
        let scale = scale_of(options, writer.old().map(DiskStore::manifest), named);
        let rule = Rule::of(scale, writer.old().is_none());
        let mut features = Features::parted(named, rule, writer.folder(), budget)?;
        fourier::check(options, writer.old().map(DiskStore::manifest))?;
        let mut old = None;
        if let Some(store) = writer.old() {
            let manifest = store.manifest();
            check_fits(manifest, named, options)?;
            // Features that fill the memory make way for others, and the map does not.
            let is_prepared =
                manifest.scale == Scale::Auto || manifest.schema.as_ref().is_some_and(Schema::needs_counts);
            let map = is_prepared.then(|| store.features(budget)).transpose()?;
            features.load(fourier::known_features(store, budget)?, budget)?;
            old = Some((manifest.clone(), map));
        }
        for _ in 0..features.eras() {
            waiting.end_era(0)?;
        }
        let threads = rayon::ThreadPoolBuilder::new().num_threads(options.threads.max(1)).build();
        let threads =
            threads.map_err(|error| StoreError::io(writer.folder(), "start threads")(std::io::Error::other(error)))?;
        let old_manifest = old.as_ref().map(|(manifest, _)| manifest);
        let old_rows = old_manifest.map_or(0, |manifest| manifest.rows);
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
            scale,
            min_count: options.min_count.max(old_manifest.map_or(1, |manifest| manifest.min_count)),
            numbers: Numbers::default(),
            schema: None,
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
            if batch.numbers > self.numbers.names().len()
                && let Some(schema) = source.schema()
            {
                self.numbers.expect(&batch, &schema, self.budget)?;
            }
            self.add_batch(&mut batch)?;
        }
        self.range.end()?;
        let input = || self.sources.first().map_or_else(String::new, |source| source.name.clone());
        if self.rows == 0 {
            return Err(PackError::NoRows { input: input() });
        }
        // What a table of numbers without a header looks like to a reader of libsvm text.
        if self.targets.count() > 1 && self.features.len() == 0 && self.features.eras() == 0 {
            return Err(PackError::Mismatch {
                problem: format!("{}: rows have {} targets and no features", input(), self.targets.count()),
                remedy: "for tables use `format(csv)`".into(),
            });
        }
        if let Some(weights) = weights {
            weights.finish(self.rows)?;
        }
        self.schema = source.schema();
        let table = &self.options.read.table;
        if self.schema.is_none() && (!table.rules.is_empty() || !table.interactions.is_empty()) {
            return Err(PackError::Mismatch {
                problem: format!("{}: rules of columns are for tables, and these rows have no columns", input()),
                remedy: "leave them out".into(),
            });
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
        self.numbers.add(batch)?;
        self.resolve_features(batch)?;
        self.features.count(batch, self.rows, self.is_scaled() || batch.needs_counts || self.min_count > 1);
        self.features.add_values(batch)?;
        self.weighted |= !batch.weights.is_empty();
        self.grouped |= !batch.groups.is_empty();
        let (progress, waiting) = (self.progress, &mut self.waiting);
        let expected = |held| expected_bytes(progress, held);
        if let Some(waiting) = waiting {
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
    pub(super) fn is_scaled(&self) -> bool {
        matches!(self.scale, Scale::Minmax | Scale::Standard)
    }

    /// Where the feature table needs room, waiting rows make way and go to disk. Where that is not enough, an era ends,
    /// and all features do. Then there is room for the rows of the batch, too.
    fn resolve_features(&mut self, batch: &mut RowBatch) -> Result<(), PackError> {
        let Some(waiting) = &mut self.waiting else { return Ok(()) };
        waiting.set_targets(self.targets.count());
        let (features, budget) = (&mut self.features, self.budget);
        // Whoever reads asks for room for a long row when it comes.
        let is_short = || budget.free_bytes() < budget.data_bytes() / SPARE_SHARE;
        if is_short() {
            waiting.make_room(expected_bytes(self.progress, waiting.held_bytes()))?;
            if is_short() && features.may_end_era() && features.held_bytes() > budget.data_bytes() / ERA_SHARE {
                features.end_era(budget)?;
                waiting.end_era(0)?;
            }
        }
        let values = (0..batch.rows()).map(|i| batch.range(i).len() as u64).max().unwrap_or(0);
        let mut done = 0;
        let mut make_ready = |features: &mut Features, waiting: &mut WaitingRows, batch: &mut RowBatch| {
            features.resolve(batch, &mut done, budget)?;
            waiting.expect(values)
        };
        let refused = match make_ready(features, waiting, batch) {
            Err(StoreError::Budget(refused)) => refused,
            other => return Ok(other?),
        };
        let expected = expected_bytes(self.progress, waiting.held_bytes());
        if waiting.held_bytes() > 0 {
            waiting.make_room(expected)?;
            match make_ready(features, waiting, batch) {
                Err(StoreError::Budget(_)) => {}
                other => return Ok(other?),
            }
        }
        if !features.may_end_era() {
            return Err(refused.into());
        }
        features.restore(batch, done);
        features.end_era(budget)?;
        waiting.end_era(expected)?;
        features.resolve(batch, &mut 0, budget)?;
        Ok(waiting.expect(values)?)
    }
}

/// The part of the budget that is not left to features and waiting rows between two batches, and the part that an era
/// should have filled before it makes way for that.
const SPARE_SHARE: u64 = 8;
const ERA_SHARE: u64 = 4;

/// How values are scaled: as those that are there already; else numbers of tables alone, unless something was asked
/// for.
fn scale_of(options: &PackOptions, old: Option<&Manifest>, named: bool) -> Scale {
    match (options.scale, old) {
        (Scale::Auto, Some(old)) => old.scale,
        (Scale::Auto, None) if !named || options.fourier.is_some() => Scale::None,
        (asked, _) => asked,
    }
}

/// What all rows will take in memory, judging by how much of the input has made `held` bytes of them.
pub fn expected_bytes(progress: &Progress, held: u64) -> u64 {
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
            format!("the store was packed with `precision({:?})`", old.precision).to_lowercase(),
            "append with the same precision",
        );
    }
    if old.scale != options.scale && options.scale != Scale::Auto {
        return mismatch(
            format!("the store was packed with `scale({:?})`", old.scale).to_lowercase(),
            "append with the same `scale`",
        );
    }
    Ok(())
}
