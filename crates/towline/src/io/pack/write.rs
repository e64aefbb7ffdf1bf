//! The second half of packing: features get columns, rows become blocks, and the store appears.
use rayon::prelude::*;

use super::PackError;
use super::arrange::{Arrangement, ColumnScaling};
use super::by_column::ByColumn;
use super::cut::Cutter;
use super::eras::{ColumnOrder, FeatureKey};
use super::fourier::{self, Mapping, MappingKeys};
use super::labels::RowStatistics;
use super::packer::{Packer, expected_bytes};
use super::rows::WaitingRows;
use super::scale::{Placed, Rule, Scaler};
use super::select::{DROPPED, place_rare};
use crate::block::Layout;
use crate::budget::Reservation;
use crate::prefetch::large_zeroed;
use crate::store::features::{Kind, MapWriter, Scaling};
use crate::store::manifest::{FileEntry, Manifest, Source, StoredRows, VERSION};
use crate::store::writer::{CheckedFile, StoreWriter};

/// Features with their columns.
struct Numbered {
    arrangement: Arrangement,
    keys: NewKeys,
    /// Features in all.
    features: u64,
    /// What random Fourier features are made from, if they are.
    mapping_keys: Option<MappingKeys>,
    _paid: Option<Reservation>,
}

/// What the features that this generation brings are called.
enum NewKeys {
    /// Ids in the order of columns, those of older generations included.
    Ids(Vec<u32>),
    /// On disk, with how they are scaled behind them, if they are; of numbers the largest one.
    OnDisk(ByColumn, u64),
}

impl Packer<'_> {
    /// Writes all blocks and files, and makes the store visible.
    pub fn write_store(mut self, mut writer: StoreWriter) -> Result<(Manifest, usize), PackError> {
        let Some(mut waiting) = self.waiting.take() else { return Err(PackError::Interrupted) };
        let mut numbered = self.number(&mut waiting)?;
        waiting.all_read()?;
        let mapping = self.mapping(&mut numbered)?;
        let Numbered { arrangement, features, .. } = &numbered;
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

    /// How rows are mapped, if they are.
    fn mapping(&self, numbered: &mut Numbered) -> Result<Option<Mapping>, PackError> {
        let Some(keys) = numbered.mapping_keys.take() else { return Ok(None) };
        let (values_per_row, old) = (self.values as f64 / self.rows as f64, self.old.as_ref().map(|(old, _)| old));
        let targets = numbered.arrangement.targets;
        Mapping::new(self.options, old, keys, (targets, values_per_row), self.budget).map(Some)
    }

    /// Gives a column to every feature, in memory if that is possible.
    fn number(&mut self, waiting: &mut WaitingRows) -> Result<Numbered, PackError> {
        self.add_rare_levels(waiting)?;
        // Order and column of each feature; where features are scaled, by what, and what becomes of an absent value.
        let feature_bytes = 4 + 4 + if self.is_scaled() { 16 + 16 } else { 0 };
        let count = self.features.len() as u64;
        let needed = count * feature_bytes;
        if self.features.eras() == 0 && self.features.may_end_era() {
            let mapped = self.options.fourier.as_ref();
            let mapped = mapped.map_or(0, |map| Mapping::needed_bytes(map, count, self.options.threads.max(1)));
            // Rows of a bucket and blocks need room, too.
            let left = self.budget.free_bytes() + self.features.lookup_bytes() + waiting.held_bytes();
            if left < needed + mapped + self.budget.data_bytes() / 4 {
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
        let mut columns = large_zeroed::<u32>(self.features.len());
        let mut selection = self.selection()?;
        let marked = selection.as_mut().map(|selection| selection.mark(&mut self.features, &mut columns));
        let rare_ids = marked.transpose()?.unwrap_or_default();
        let mut order = self.ids_by_column(&columns);
        order.extend(&rare_ids);
        place_rare(&mut columns, &order, rare_ids.len());
        self.note_levels(selection);
        let mut arrangement = self.arrangement_of(&order, columns)?;
        wanted.number(&mut self.features, &arrangement.columns)?;
        self.prepare(&mut arrangement, wanted)?;
        let mut mapping_keys = self.mapping_keys()?;
        if let Some(keys) = &mut mapping_keys {
            keys.fill(&mut self.features, &arrangement.columns)?;
        }
        let features = order.len() as u64;
        Ok(Numbered { arrangement, keys: NewKeys::Ids(order), features, mapping_keys, _paid: Some(paid) })
    }

    /// The same for features that have come in eras.
    fn number_eras(&mut self, waiting: &mut WaitingRows) -> Result<Numbered, PackError> {
        let (mut wanted, mut mapping_keys, mut scaler) = (self.wanted()?, self.mapping_keys()?, self.scaler());
        let (is_scaled, mut selection) = (self.is_scaled(), self.selection()?);
        let mut place = |key: FeatureKey<'_>, placed: &Placed| {
            if let FeatureKey::Name(name) = key {
                wanted.see(name, placed.column, placed.count)?;
            }
            if placed.column == DROPPED {
                return Ok(Scaling::NONE);
            }
            if let Some(keys) = &mut mapping_keys {
                keys.set(key, placed.column)?;
            }
            if is_scaled { scaler.scale(placed, || key.to_string()) } else { Ok(Scaling::NONE) }
        };
        let order = self.column_order();
        let numbering = self.features.number_eras(order, selection.as_mut(), &mut place, self.budget)?;
        let Some(numbering) = numbering else { return Err(PackError::Interrupted) };
        self.threads.install(|| waiting.renumber(&numbering))?;
        let features = numbering.features;
        if let Some(keys) = &mut mapping_keys {
            keys.resize(features as usize)?;
        }
        let mut arrangement = self.arrangement(Vec::new(), features as usize);
        if is_scaled {
            (arrangement.scaling, arrangement.fill) = (ColumnScaling::Done, scaler.fill()?);
        }
        self.note_levels(selection);
        self.prepare(&mut arrangement, wanted)?;
        let keys = NewKeys::OnDisk(numbering.keys, numbering.largest);
        Ok(Numbered { arrangement, keys, features, mapping_keys, _paid: None })
    }

    fn column_order(&self) -> ColumnOrder {
        match (self.options.renumber, self.named) {
            (true, _) => ColumnOrder::ByCount,
            (false, true) => ColumnOrder::AsSeen,
            (false, false) => ColumnOrder::ByNumber,
        }
    }

    /// Feature ids in the order of their columns, but for those that `columns` has a mark of. Columns of older
    /// generations stay; new ones follow.
    fn ids_by_column(&self, columns: &[u32]) -> Vec<u32> {
        let old = self.features.old() as u32;
        let mut order: Vec<u32> = (0..old).collect();
        match self.column_order() {
            ColumnOrder::ByCount => order.append(&mut self.features.by_frequency()),
            ColumnOrder::AsSeen => order.extend(old..self.features.len() as u32),
            ColumnOrder::ByNumber => {
                order.extend(old..self.features.len() as u32);
                let (numbers, new) = (self.features.numbers(), &mut order[old as usize..]);
                self.threads.install(|| new.par_sort_unstable_by_key(|&id| numbers[id as usize]));
            }
        }
        order.retain(|&id| columns[id as usize] == 0);
        order
    }

    fn mapping_keys(&self) -> Result<Option<MappingKeys>, PackError> {
        Ok(self.options.fourier.map(|map| MappingKeys::new(map, self.budget)).transpose()?)
    }

    fn scaler(&self) -> Scaler {
        Scaler::new(Rule::of(self.scale, self.old.is_none()), self.options.precision, (self.rows, self.values))
    }

    fn arrangement(&self, columns: Vec<u32>, column_count: usize) -> Arrangement {
        let (scale, precision, targets) = (self.scale, self.options.precision, self.targets.count());
        let (scaling, fill, absent) = (ColumnScaling::None, Vec::new(), Vec::new());
        let drops = column_count < columns.len();
        Arrangement { columns, drops, column_count, scaling, fill, absent, scale, precision, targets, paid: None }
    }

    /// `columns` has the features that are dropped; the others get theirs.
    fn arrangement_of(&self, order: &[u32], mut columns: Vec<u32>) -> Result<Arrangement, PackError> {
        order.iter().enumerate().for_each(|(column, &id)| columns[id as usize] = column as u32);
        let mut arrangement = self.arrangement(columns, order.len());
        if !self.is_scaled() {
            return Ok(arrangement);
        }
        let (mut scaler, mut scaling) = (self.scaler(), Vec::with_capacity(order.len()));
        for (column, &id) in (0..).zip(order) {
            let (count, pair) = (self.features.counts()[id as usize], self.features.statistics().pair(id as usize));
            // Features with names are known by their number only while they are read.
            let name = || self.features.numbers().get(id as usize).unwrap_or(&u64::from(id)).to_string();
            scaling.push(scaler.scale(&Placed { column, count, pair }, name)?);
        }
        (arrangement.scaling, arrangement.fill) = (ColumnScaling::All(scaling), scaler.fill()?);
        Ok(arrangement)
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
            NewKeys::Ids(order) => self.features.names_by_column((&arrangement.columns, &order), self.budget)?,
            NewKeys::OnDisk(keys, _) => Some(keys),
        };
        let has_scaling = matches!(arrangement.scaling, ColumnScaling::Done);
        if let Some(keys) = keys {
            keys.drain(self.budget, |column, key| {
                let (key, scaling) = match key.split_last_chunk::<16>() {
                    Some((key, pair)) if has_scaling => (key, Some(Scaling::from_bytes(pair))),
                    _ => (key, scaling(column as usize)),
                };
                match <[u8; 8]>::try_from(key) {
                    Ok(number) if !self.named => map.number(u64::from_le_bytes(number), scaling),
                    _ => map.name(key, scaling),
                }
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
            min_count: self.min_count,
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
