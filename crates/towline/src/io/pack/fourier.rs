//! Rows become random Fourier features on their way into a store, or stay what these are made from whenever a block is
//! read.
use std::io::{BufReader, Read};
use std::path::Path;

use super::arrange::Arrangement;
use super::intern::Features;
use super::labels::RowStatistics;
use super::{FourierKept, PackError, PackOptions};
use crate::block::{Block, Layout};
use crate::budget::{Budget, Reservation};
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
    _paid: Reservation,
}

/// Refuses maps and options that do not go together, or not with the store that is there.
pub fn check(options: &PackOptions, old: Option<&Manifest>) -> Result<(), PackError> {
    let mismatch = |problem: String, remedy: &str| Err(PackError::Mismatch { problem, remedy: remedy.into() });
    if options.fourier.is_some() && !matches!(options.scale, Scale::None | Scale::Auto) {
        return mismatch("scaled rows cannot become random Fourier features".into(), "scale the data before packing");
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
    /// What mapping rows of so many features takes.
    pub fn needed_bytes(map: &FourierMap, features: u64, threads: usize) -> u64 {
        ColumnFrequencies::needed_bytes(map, features) + threads as u64 * Mapper::needed_bytes(map)
    }

    /// The mapping of rows with `values_per_row` values, if there is to be one.
    pub fn new(
        options: &PackOptions,
        old: Option<&Manifest>,
        (features, arrangement): (&mut Features, &Arrangement),
        values_per_row: f64,
        budget: &Budget,
    ) -> Result<Option<Mapping>, PackError> {
        let Some(map) = options.fourier else { return Ok(None) };
        let columns = features.len() as u64;
        let paid =
            budget.reserve("random Fourier features", Self::needed_bytes(&map, columns, options.threads.max(1)))?;
        let keeps_rows = match (options.fourier_kept, old) {
            (_, Some(old)) => old.made_from.is_some(),
            (FourierKept::Auto, None) => is_cheaper(&map, columns, values_per_row),
            (kept, None) => kept == FourierKept::Seed,
        };
        let frequencies = ColumnFrequencies::new(map, keys(&map, features, arrangement)?);
        let kind = Arrangement::layout(options.precision).values;
        let layout = Layout::new(true, kind).with_targets(arrangement.targets);
        Ok(Some(Mapping { map, frequencies, layout, keeps_rows, _paid: paid }))
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

/// What the frequencies of each column are made from.
fn keys(map: &FourierMap, features: &mut Features, arrangement: &Arrangement) -> Result<Vec<u64>, StoreError> {
    let columns = &arrangement.columns;
    let mut keys = vec![0; columns.len()];
    let Some((ends, text)) = features.names()? else {
        features.numbers().iter().zip(columns).for_each(|(&n, &column)| keys[column as usize] = map.key_of_number(n));
        return Ok(keys);
    };
    let (mut text, mut name, mut start) = (BufReader::new(text), Vec::new(), 0);
    for (&end, &column) in ends.iter().zip(columns) {
        name.resize((end - start) as usize, 0);
        text.read_exact(&mut name).map_err(StoreError::io(Path::new("feature names"), "read them"))?;
        keys[column as usize] = map.key_of_name(&name);
        start = end;
    }
    Ok(keys)
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
