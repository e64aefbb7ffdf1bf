//! Rows that are made when they are read: a store of small rows looks like one of the random Fourier features that they
//! are mapped to.
use std::sync::OnceLock;

use super::features::{FeatureFiles, FeatureMap};
use super::manifest::Manifest;
use super::{BlockInfo, StoreError, reading_bytes};
use crate::block::Block;
use crate::budget::Budget;
use crate::fourier::FourierMap;
use crate::fourier::columns::{ColumnFrequencies, Mapper};

/// How the rows of a store are made.
#[derive(Debug)]
pub(super) struct LazyFourier {
    map: FourierMap,
    /// LazyFourier from the feature map with the first block.
    frequencies: OnceLock<ColumnFrequencies>,
    needed_bytes: u64,
}

impl LazyFourier {
    /// If rows are made at all, what they are made from, and `infos` of blocks as they lie on disk, which become those
    /// of the made ones.
    pub fn new(manifest: &Manifest, infos: &mut [BlockInfo]) -> Option<LazyFourier> {
        let (map, stored) = (manifest.fourier?, manifest.made_from?);
        let largest = infos.iter().map(|info| info.resident_bytes(stored.layout)).max().unwrap_or(0);
        let names = manifest.feature_maps.iter().fold(0u64, |sum, file| sum.saturating_add(2 * file.bytes));
        let frequencies = ColumnFrequencies::needed_bytes(&map, stored.features) + Mapper::needed_bytes(&map);
        let needed_bytes = reading_bytes(infos) + largest + names + frequencies;
        infos.iter_mut().for_each(|info| info.values = u64::from(info.rows) * u64::from(map.features()));
        Some(LazyFourier { map, frequencies: OnceLock::new(), needed_bytes })
    }

    /// What reading takes besides the block that is made.
    pub fn reading_bytes(&self) -> u64 {
        self.needed_bytes
    }

    /// Appends the rows that `stored` become to `into`.
    pub fn append(
        &self,
        files: &FeatureFiles,
        manifest: &Manifest,
        stored: &Block,
        into: &mut Block,
    ) -> Result<(), StoreError> {
        let frequencies = match self.frequencies.get() {
            Some(known) => known,
            None => {
                // Whoever reads has set aside the memory for it.
                let features = FeatureMap::read_stored(files, manifest, &Budget::unlimited())?;
                self.frequencies.get_or_init(|| ColumnFrequencies::of_store(self.map, &features))
            }
        };
        frequencies.mapper().map_block(stored, into);
        Ok(())
    }
}
