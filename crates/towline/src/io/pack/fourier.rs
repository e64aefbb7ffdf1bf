//! Rows become random Fourier features on their way into a store, or stay what these are made from whenever a block is
//! read.
use super::arrange::Arrangement;
use super::eras::FeatureKey;
use super::intern::Features;
use super::labels::RowStatistics;
use super::{FourierKept, PackError, PackOptions};
use crate::block::{Block, Layout};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::fourier::FourierMap;
use crate::fourier::columns::{ColumnFrequencies, Mapper, is_cheaper};
use crate::store::features::{Columns, Kind, MapWriter};
use crate::store::manifest::{Manifest, Scale, StoredRows};
use crate::store::writer::{CheckedFile, StoreWriter};
use crate::store::{DiskStore, StoreError};

/// How rows are mapped, and which ones are written.
pub struct Mapping {
    map: FourierMap,
    frequencies: ColumnFrequencies,
    /// Mapped rows.
    pub layout: Layout,
    /// Rows are written as they came.
    keeps_rows: bool,
    _paid: [Reservation; 2],
}

/// What the frequencies of each column are made from.
pub struct MappingKeys {
    map: FourierMap,
    keys: Vec<u64>,
    paid: Reservation,
}

impl MappingKeys {
    /// None yet.
    pub fn new(map: FourierMap, budget: &Budget) -> Result<Self, BudgetError> {
        Ok(MappingKeys { map, keys: Vec::new(), paid: budget.reserve("random Fourier features", 0)? })
    }

    /// Notes the feature of a column.
    pub fn set(&mut self, key: FeatureKey<'_>, column: u32) -> Result<(), BudgetError> {
        let column = column as usize;
        if column >= self.keys.len() {
            // Columns come in any order.
            let room = (column + 1).max(self.keys.len() + self.keys.len() / 4);
            self.paid.resize(8 * room as u64)?;
            self.keys.reserve_exact(room - self.keys.len());
            self.keys.resize(room, 0);
        }
        self.keys[column] = match key {
            FeatureKey::Number(number) => self.map.key_of_number(number),
            FeatureKey::Name(name) => self.map.key_of_name(name),
        };
        Ok(())
    }

    /// Notes all features in memory; `columns` are those of their ids.
    pub fn fill(&mut self, features: &mut Features, columns: &[u32]) -> Result<(), StoreError> {
        self.resize(columns.len())?;
        features.each_name(&mut |name, id, _| Ok(self.set(FeatureKey::Name(name), columns[id as usize])?))?;
        let numbers = features.numbers().iter().zip(columns);
        Ok(numbers.into_iter().try_for_each(|(&number, &column)| self.set(FeatureKey::Number(number), column))?)
    }

    /// There are so many columns.
    pub fn resize(&mut self, columns: usize) -> Result<(), BudgetError> {
        self.paid.resize(8 * columns as u64)?;
        self.keys.reserve_exact(columns.saturating_sub(self.keys.len()));
        self.keys.resize(columns, 0);
        Ok(())
    }
}

/// Rows that are scored are mapped as they are, with features that training has not kept.
pub const NO_SELECTION: &str = "random Fourier features are made from all features, rare ones included";

/// Refuses maps and options that do not go together, or not with the store that is there.
pub fn check(options: &PackOptions, old: Option<&Manifest>) -> Result<(), PackError> {
    let mismatch = |problem: String, remedy: &str| Err(PackError::Mismatch { problem, remedy: remedy.into() });
    if options.fourier.is_some() && !matches!(options.scale, Scale::None | Scale::Auto) {
        return mismatch("scaled rows cannot become random Fourier features".into(), "scale the data before packing");
    }
    if options.fourier.is_some() && options.min_count > 1 {
        return mismatch(NO_SELECTION.into(), "leave out `min_count`");
    }
    let Some(old) = old else { return Ok(()) };
    if old.fourier != options.fourier {
        let kind = |map: Option<FourierMap>| map.map_or("rows as they are".into(), |map| map.describe());
        return mismatch(
            format!("the store has {} and these rows would be {}", kind(old.fourier), kind(options.fourier)),
            "append with the same `rff`, `gamma` and `rff_seed`",
        );
    }
    let (keeps_rows, wanted) = (old.made_from.is_some(), options.fourier_kept);
    if old.fourier.is_some() && wanted == if keeps_rows { FourierKept::Values } else { FourierKept::Seed } {
        let kept = if keeps_rows { "seed" } else { "values" };
        return mismatch(format!("the store was packed with `rff_keep({kept})`"), "append with the same `rff_keep`");
    }
    Ok(())
}

/// The features of the rows that lie in the blocks of `store`: none of the input's where these hold features of the
/// map.
pub fn known_features<'a>(store: &'a DiskStore, budget: &Budget) -> Result<Columns<'a>, StoreError> {
    let manifest = store.manifest();
    match manifest.fourier.is_some() && manifest.made_from.is_none() {
        true => Columns::none(false, budget),
        false => store.stored_columns(budget),
    }
}

impl Mapping {
    /// What mapping rows of so many features takes at least.
    pub fn needed_bytes(map: &FourierMap, features: u64, threads: usize) -> u64 {
        ColumnFrequencies::least_bytes(map, features) + threads as u64 * Mapper::needed_bytes(map)
    }

    /// The mapping of rows with so many targets and values.
    pub fn new(
        options: &PackOptions,
        old: Option<&Manifest>,
        keys: MappingKeys,
        (targets, values_per_row): (u32, f64),
        budget: &Budget,
    ) -> Result<Mapping, PackError> {
        let MappingKeys { map, keys, paid } = keys;
        let columns = keys.len() as u64;
        let all = Self::needed_bytes(&map, columns, options.threads.max(1));
        // Blocks and rows need room, too; frequencies without a place are made when they are needed.
        let table_bytes = ColumnFrequencies::table_bytes(&map, columns).min(budget.free_bytes() / 8);
        let rest = budget.reserve("random Fourier features", all - 8 * columns + table_bytes)?;
        let keeps_rows = match (options.fourier_kept, old) {
            (_, Some(old)) => old.made_from.is_some(),
            (FourierKept::Auto, None) => is_cheaper(&map, columns, values_per_row),
            (kept, None) => kept == FourierKept::Seed,
        };
        let frequencies = ColumnFrequencies::new(map, keys, table_bytes);
        let kind = Arrangement::layout(options.precision).values;
        let layout = Layout::new(true, kind).with_targets(targets);
        Ok(Mapping { map, frequencies, layout, keeps_rows, _paid: [paid, rest] })
    }

    /// How many features are written, if it is those of the map.
    pub fn written_features(&self) -> Option<u64> {
        (!self.keeps_rows).then_some(u64::from(self.map.features()))
    }

    /// D.
    pub fn features(&self) -> u64 {
        u64::from(self.map.features())
    }

    /// What `rows` rows look like to a reader, if they are not what is written.
    pub fn made_rows(&self, rows: u64) -> Option<StoredRows> {
        let features = self.features();
        let made = StoredRows { features, values: rows * features, layout: self.layout, named_features: false };
        self.keeps_rows.then_some(made)
    }
}

/// The feature map of a store that holds the features of a map: numbers from 1.
pub fn write_features(features: u64, writer: &StoreWriter) -> Result<Option<CheckedFile>, StoreError> {
    if writer.old().is_some() {
        return Ok(None);
    }
    let file = writer.small_file("features", "map")?;
    let mut map = MapWriter::new(file, Kind::Numbers { largest: features }, false, features)?;
    (1..=features).try_for_each(|number| map.number(number, None))?;
    Ok(Some(map.finish()?))
}

/// Maps the rows of a block, on one thread.
pub struct BlockMapper<'a> {
    mapper: Mapper<'a>,
    keeps_rows: bool,
    block: Block,
}

impl<'a> BlockMapper<'a> {
    pub fn new(mapping: &'a Mapping) -> Self {
        let block = Block::new(mapping.layout, mapping.features() as usize);
        BlockMapper { mapper: mapping.frequencies.mapper(), keeps_rows: mapping.keeps_rows, block }
    }

    /// The rows to write for `raw`, and what they look like once they are mapped.
    pub fn rows<'b>(&'b mut self, raw: &'b Block) -> (&'b Block, RowStatistics) {
        let mut statistics = RowStatistics::default();
        self.block.clear();
        for i in 0..raw.rows() {
            let features = match self.keeps_rows {
                true => self.mapper.map_row(raw.row(i)),
                false => self.mapper.push(raw, i, &mut self.block),
            };
            statistics.add(features.len() as u64, features.iter().map(|value| value * value).sum());
        }
        (if self.keeps_rows { raw } else { &self.block }, statistics)
    }
}
