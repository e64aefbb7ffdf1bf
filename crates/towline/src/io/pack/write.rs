//! The second half of packing: features get columns, rows become blocks, and the store appears.
use rayon::prelude::*;

use super::PackError;
use super::arrange::{Arrangement, ColumnScaling};
use super::by_column::ByColumn;
use super::cut::Cutter;
use super::eras::See;
use super::fourier::{self, Mapping};
use super::labels::RowStatistics;
use super::packer::{Packer, expected_bytes};
use super::rows::WaitingRows;
use crate::block::Layout;
use crate::budget::Reservation;
use crate::prefetch::large_zeroed;
use crate::store::features::{Kind, MapWriter, Scaling};
use crate::store::manifest::{FileEntry, Manifest, Scale, Source, StoredRows, VERSION};
use crate::store::writer::{CheckedFile, StoreWriter};

/// Features with their columns.
struct Numbered {
    arrangement: Arrangement,
    keys: NewKeys,
    /// Features in all.
    features: u64,
    _paid: Option<Reservation>,
}

/// What the features that this generation brings are called.
enum NewKeys {
    /// Ids in the order of columns, those of older generations included.
    Ids(Vec<u32>),
    /// On disk; of numbers the largest one.
    OnDisk(ByColumn, u64),
}

impl Packer<'_> {
    /// Writes all blocks and files, and makes the store visible.
    pub fn write_store(mut self, mut writer: StoreWriter) -> Result<(Manifest, usize), PackError> {
        let Some(mut waiting) = self.waiting.take() else { return Err(PackError::Interrupted) };
        let numbered = self.number(&mut waiting)?;
        let Numbered { arrangement, features, .. } = &numbered;
        waiting.all_read()?;
        let (values_per_row, old) = (self.values as f64 / self.rows as f64, self.old.as_ref().map(|(old, _)| old));
        let mapping = Mapping::new(self.options, old, (&mut self.features, arrangement), values_per_row, self.budget)?;
        let mut cutter =
            Cutter::new(arrangement, mapping.as_ref(), self.options, &mut writer, self.longest, self.budget)?;
        self.threads.install(|| {
            waiting.drain(|slabs, order| cutter.add(slabs, order))?;
            cutter.finish()
        })?;
        let Cutter { stored_layout, values, statistics, .. } = cutter;
        let written = self.written_rows(stored_layout, values, *features, mapping.as_ref());
        let mut manifest = self.manifest(written, &statistics, mapping.as_ref(), &writer);
        let feature_map = match mapping.as_ref().and_then(Mapping::written_features) {
            Some(features) => fourier::write_features(features, &writer)?,
            None => self.write_features(numbered, &writer)?,
        };
        if feature_map.is_some() {
            manifest.version = manifest.version.max(4);
        }
        let blocks = writer.blocks();
        Ok((writer.finish(manifest, feature_map)?, blocks))
    }

    /// Gives a column to every feature, in memory if that is possible.
    fn number(&mut self, waiting: &mut WaitingRows) -> Result<Numbered, PackError> {
        // Order and column of each feature; where features are scaled, by what, and what becomes of an absent value.
        let feature_bytes = 4 + 4 + if self.is_scaled() { 16 + 16 } else { 0 };
        let needed = self.features.len() as u64 * feature_bytes;
        if self.features.eras() == 0 && self.features.may_end_era() {
            // Rows of a bucket and blocks need room, too.
            let left = self.budget.free_bytes() + self.features.lookup_bytes() + waiting.held_bytes();
            if left < needed + self.budget.data_bytes() / 4 {
                self.features.end_era(self.budget)?;
                waiting.end_era(expected_bytes(self.progress, waiting.held_bytes()))?;
            }
        }
        if self.features.eras() > 0 {
            waiting.end_era(0)?;
            return self.number_eras(waiting);
        }
        let mut wanted = self.wanted()?;
        wanted.find_ids(&self.features);
        self.features.drop_lookup()?;
        let paid = self.budget.reserve("feature order", needed)?;
        let order = self.column_order();
        let mut arrangement = self.arrangement_of(&order)?;
        wanted.number(&mut self.features, &arrangement.columns)?;
        self.prepare(&mut arrangement, wanted);
        let features = order.len() as u64;
        Ok(Numbered { arrangement, keys: NewKeys::Ids(order), features, _paid: Some(paid) })
    }

    /// The same for features that have come in eras.
    fn number_eras(&mut self, waiting: &mut WaitingRows) -> Result<Numbered, PackError> {
        let mut wanted = self.wanted()?;
        let see: See = &mut |name, column, count| wanted.see(name, column, count);
        let numbering = self.features.number_eras(see, self.budget)?;
        let Some(numbering) = numbering else { return Err(PackError::Interrupted) };
        self.threads.install(|| waiting.renumber(&numbering))?;
        let features = numbering.features;
        let mut arrangement = self.arrangement(Vec::new(), features as usize);
        self.prepare(&mut arrangement, wanted);
        Ok(Numbered { arrangement, keys: NewKeys::OnDisk(numbering.keys, numbering.largest), features, _paid: None })
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

    fn arrangement(&self, columns: Vec<u32>, column_count: usize) -> Arrangement {
        let (scale, precision, targets) = (self.scale, self.options.precision, self.targets.count());
        let (scaling, fill, absent) = (ColumnScaling::None, Vec::new(), Vec::new());
        Arrangement { columns, column_count, scaling, fill, absent, scale, precision, targets, paid: None }
    }

    fn arrangement_of(&self, order: &[u32]) -> Result<Arrangement, PackError> {
        let mut columns = large_zeroed::<u32>(order.len());
        order.iter().enumerate().for_each(|(column, &id)| columns[id as usize] = column as u32);
        let mut arrangement = self.arrangement(columns, order.len());
        let (scale, precision) = (arrangement.scale, arrangement.precision);
        if !matches!(scale, Scale::Minmax | Scale::Standard) {
            return Ok(arrangement);
        }
        let scaling: Vec<Scaling> = match &self.old {
            // Rows that are stored already cannot be scaled again: what was decided then holds, and new features stay
            // as they are.
            Some((_, map)) => (0..order.len() as u32)
                .map(|column| map.as_ref().and_then(|map| map.scaling(column)))
                .map(|scaling| scaling.unwrap_or(Scaling { shift: 0.0, factor: 1.0 }))
                .collect(),
            None => order
                .iter()
                .map(|&id| {
                    self.statistics.scaling(id as usize, u64::from(self.features.counts()[id as usize]), self.rows)
                })
                .collect(),
        };
        for (column, &Scaling { shift, factor }) in scaling.iter().enumerate() {
            if !factor.is_finite() || factor <= 0.0 {
                return Err(self.cannot_scale(order[column]));
            }
            let always_present = u64::from(self.features.counts()[order[column] as usize]) == self.rows;
            if shift != 0.0 && !always_present {
                arrangement.fill.push((column as u32, precision.round(-shift * factor)));
            }
        }
        arrangement.scaling = ColumnScaling::All(scaling);
        let (filled, values) = (arrangement.fill.len() as u64 * self.rows, self.value_count());
        if filled > 8 * values {
            return Err(PackError::Mismatch {
                problem: format!(
                    "`scale(minmax)` would turn {values} values into about {filled}: {} features have negative values, so that 0 moves",
                    arrangement.fill.len()
                ),
                remedy: "use `scale(standard)` or `scale(rows)`, which keep zeros".into(),
            });
        }
        Ok(arrangement)
    }

    fn cannot_scale(&self, id: u32) -> PackError {
        // Features with names are known by their number only while they are read.
        let feature = self.features.numbers().get(id as usize).map_or(u64::from(id), |&number| number);
        PackError::Mismatch {
            problem: format!("the values of feature {feature} are too far apart or too close together to be scaled"),
            remedy: "use `scale(rows)`, or scale the data before packing".into(),
        }
    }

    fn value_count(&self) -> u64 {
        self.features.counts().iter().map(|&count| u64::from(count)).sum()
    }

    fn write_features(&mut self, numbered: Numbered, writer: &StoreWriter) -> Result<Option<CheckedFile>, PackError> {
        let Numbered { arrangement, keys, features, .. } = numbered;
        let old = self.features.old();
        let count = features - old as u64;
        if count == 0 && self.old.is_some() {
            return Ok(None);
        }
        let _paid = self.budget.reserve("the feature map", MapWriter::needed_bytes(arrangement.scaling.is_some()))?;
        let scaling = |k: usize| arrangement.scaling.of((old + k) as u32);
        let numbers = self.features.numbers();
        let largest = match &keys {
            NewKeys::Ids(order) if !self.named => {
                order[old..].iter().map(|&id| numbers[id as usize]).max().unwrap_or(0)
            }
            NewKeys::Ids(_) => 0,
            NewKeys::OnDisk(_, largest) => *largest,
        };
        let kind = if self.named { Kind::Names } else { Kind::Numbers { largest } };
        let file = writer.small_file("features", "map")?;
        let mut map = MapWriter::new(file, kind, arrangement.scaling.is_some(), count)?;
        let keys = match keys {
            NewKeys::Ids(order) if !self.named => {
                for (k, &id) in order[old..].iter().enumerate() {
                    map.number(numbers[id as usize], scaling(k))?;
                }
                return Ok(Some(map.finish()?));
            }
            NewKeys::Ids(_) => self.features.names_by_column(&arrangement.columns, self.budget)?,
            NewKeys::OnDisk(keys, _) => Some(keys),
        };
        if let Some(keys) = keys {
            keys.drain(self.budget, |column, key| match <[u8; 8]>::try_from(key) {
                Ok(number) if !self.named => map.number(u64::from_le_bytes(number), scaling(column as usize)),
                _ => map.name(key, scaling(column as usize)),
            })?;
        }
        Ok(Some(map.finish()?))
    }

    /// All rows as they lie in the blocks, of which the new ones have `values` values in this layout.
    fn written_rows(
        &self,
        layout: Option<Layout>,
        values: u64,
        features: u64,
        mapping: Option<&Mapping>,
    ) -> StoredRows {
        let old = self.old.as_ref().map(|(manifest, _)| manifest.stored());
        let mapped = mapping.and_then(Mapping::written_features);
        let (features, named) = mapped.map_or((features, self.named), |features| (features, false));
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
        written: StoredRows,
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
        let made = mapping.and_then(|mapping| mapping.made_rows(self.old_rows + self.rows));
        let StoredRows { features, values, layout, named_features } = made.unwrap_or(written);
        Manifest {
            // Older programs read what they know: stores that only have feature maps of the first version.
            version: old.map_or(1, |m| m.version).max(match (&self.schema, made) {
                (Some(_), _) => VERSION,
                (None, Some(_)) => 3,
                (None, None) => 1,
            }),
            generation,
            created_by: format!("towline {}", env!("CARGO_PKG_VERSION")),
            rows: self.old_rows + self.rows,
            values,
            features,
            layout,
            precision: self.options.precision,
            scale: self.scale,
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
            schema: self.schema.clone(),
            sources,
            table: FileEntry { name: String::new(), bytes: 0, checksum: 0 },
            feature_maps: Vec::new(),
            block_files: Vec::new(),
        }
    }
}
