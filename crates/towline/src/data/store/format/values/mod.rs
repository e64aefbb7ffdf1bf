//! Values of all rows in the cheapest of six encodings.
//!
//! | tag | encoding | for |
//! | --- | --- | --- |
//! | 0 | nothing | every value is 1 |
//! | 1 | one number per row | binary features scaled to unit length |
//! | 2 | a dictionary of the block, bit-packed codes | grey levels, one-hot columns beside a few numbers |
//! | 3 | a dictionary per row, bit-packed codes | counts or log counts scaled row by row, the usual form of text |
//! | 4 | 32-bit floats | everything else |
//! | 5 | 64-bit floats | values that are no 32-bit floats |
//!
//! A row's dictionary is ordered by how often a value occurs in the row, so most codes are tiny.
mod decode;
mod dictionary;

use super::packed;
use crate::block::{Block, Layout, ValueKind, Values};
pub use decode::decode;
pub use dictionary::Dictionary;

const ONES: u8 = 0;
const PER_ROW: u8 = 1;
const BLOCK_DICTIONARY: u8 = 2;
const ROW_DICTIONARY: u8 = 3;
const F32: u8 = 4;
const F64: u8 = 5;

/// Codes beyond this would save little over a 32-bit float.
const LARGEST_DICTIONARY: usize = 1 << 16;
/// Values looked at to choose between the encodings.
const SAMPLE_VALUES: usize = 16 << 10;

/// The encoding with this tag, in words.
pub fn encoding_name(tag: u8) -> Option<&'static str> {
    ["all ones", "one per row", "block dictionary", "row dictionary", "32-bit floats", "64-bit floats"]
        .get(tag as usize)
        .copied()
}

/// The smallest layout that can hold the rows of `block`.
pub fn least_layout(block: &Block) -> Layout {
    let dense = block.layout().dense || (block.rows() > 0 && is_dense(block));
    let values = match &block.values {
        Values::Ones => ValueKind::Ones,
        Values::PerRow(v) if v.iter().all(|&v| v == 1.0) => ValueKind::Ones,
        Values::PerRow(_) => ValueKind::PerRow,
        Values::F32(v) => floats_kind(block, v, |_| true),
        Values::F64(v) => floats_kind(block, v, |v| f64::from(v as f32) == v),
    };
    Layout { dense: dense && values >= ValueKind::F32, values, ..block.layout() }
}

fn is_dense(block: &Block) -> bool {
    block.values() == block.rows() * block.columns()
        && block
            .indices
            .narrow()
            .chunks(block.columns().max(1))
            .all(|row| row.iter().enumerate().all(|(k, &c)| c as usize == k))
}

fn floats_kind<V: Copy + PartialEq + From<f32>>(block: &Block, values: &[V], is_f32: impl Fn(V) -> bool) -> ValueKind {
    let mut start = 0;
    let mut same_in_rows = true;
    for &end in &block.ends {
        let row = &values[start..end];
        if row.iter().any(|&v| v != row[0]) {
            same_in_rows = false;
            break;
        }
        start = end;
    }
    if same_in_rows {
        if values.iter().all(|&v| v == V::from(1.0)) {
            return ValueKind::Ones;
        }
        // Beside blocks of 32-bit floats these rows would be decoded as such, so only constants that are some may stay
        // constants.
        if values.iter().all(|&v| is_f32(v)) {
            return ValueKind::PerRow;
        }
    }
    if values.iter().all(|&v| is_f32(v)) { ValueKind::F32 } else { ValueKind::F64 }
}

pub fn encode(block: &Block, kind: ValueKind, codes: &mut Vec<u32>, dictionary: &mut Dictionary, out: &mut Vec<u8>) {
    match (kind, &block.values) {
        (ValueKind::Ones, _) => out.push(ONES),
        (ValueKind::PerRow, _) => encode_per_row(block, out),
        (_, Values::F32(v)) => encode_floats(block, v, codes, dictionary, out),
        (ValueKind::F32, Values::F64(v)) => {
            let single: Vec<f32> = v.iter().map(|&v| v as f32).collect();
            encode_floats(block, &single, codes, dictionary, out);
        }
        (_, Values::F64(v)) => encode_floats(block, v, codes, dictionary, out),
        (_, Values::Ones | Values::PerRow(_)) => unreachable!("least_layout says ones or one per row for these"),
    }
}

fn encode_per_row(block: &Block, out: &mut Vec<u8>) {
    out.push(PER_ROW);
    for i in 0..block.rows() {
        let constant = block.row(i).iter().next().map_or(1.0, |(_, v)| v);
        out.extend_from_slice(&constant.to_le_bytes());
    }
}

/// A float as it is stored.
trait Float: Copy + PartialEq {
    const BYTES: usize;
    const PLAIN: u8;
    fn bits(self) -> u64;
    fn write(self, out: &mut Vec<u8>);
    fn from_f32(v: f32) -> Self;
    fn from_f64(v: f64) -> Self;
    fn is_finite(self) -> bool;
}

impl Float for f32 {
    const BYTES: usize = 4;
    const PLAIN: u8 = F32;
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
    fn from_f32(v: f32) -> Self {
        v
    }
    fn from_f64(v: f64) -> Self {
        v as f32
    }
    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }
}

impl Float for f64 {
    const BYTES: usize = 8;
    const PLAIN: u8 = F64;
    fn bits(self) -> u64 {
        self.to_bits()
    }
    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
    fn from_f32(v: f32) -> Self {
        f64::from(v)
    }
    fn from_f64(v: f64) -> Self {
        v
    }
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
}

fn encode_floats<V: Float>(
    block: &Block,
    values: &[V],
    codes: &mut Vec<u32>,
    dictionary: &mut Dictionary,
    out: &mut Vec<u8>,
) {
    let begin = out.len();
    let done = match cheapest(block, values, dictionary) {
        ROW_DICTIONARY => encode_row_dictionaries(block, values, codes, dictionary, out),
        BLOCK_DICTIONARY => encode_block_dictionary(values, codes, dictionary, out),
        _ => false,
    };
    if !done {
        out.truncate(begin);
        out.push(V::PLAIN);
        out.reserve(values.len() * V::BYTES);
        values.iter().for_each(|v| v.write(out));
    }
}

/// Chooses an encoding from a sample of rows spread over the block.
fn cheapest<V: Float>(block: &Block, values: &[V], dictionary: &mut Dictionary) -> u8 {
    let rows = block.rows();
    let sampled_rows = (SAMPLE_VALUES * rows / values.len().max(1)).clamp(1, rows);
    let (mut sampled, mut row_bits) = (0usize, 0.0);
    let row_of = |k: usize| {
        let i = k * rows / sampled_rows;
        let end = block.ends[i];
        &values[end - block.row_len(i)..end]
    };
    for k in 0..sampled_rows {
        let row = row_of(k);
        dictionary.clear();
        row.iter().for_each(|v| _ = dictionary.code(v.bits()));
        // Ordering by frequency makes codes about as short as the entropy; half of the full width is close to what is
        // seen.
        row_bits += row.len() as f64 * bits_for(dictionary.len()).max(1.0) * 0.8
            + (dictionary.len() * V::BYTES * 8 + 16) as f64;
        sampled += row.len();
    }
    dictionary.clear();
    for k in 0..sampled_rows {
        for v in row_of(k) {
            dictionary.code(v.bits());
        }
    }
    let distinct = dictionary.len();
    let sampled = sampled.max(1) as f64;
    // More values show more distinct ones; the square root is the usual growth of a vocabulary.
    let expected = distinct as f64 * (values.len() as f64 / sampled).sqrt();
    let block_bits = bits_for(expected as usize) + expected * (V::BYTES * 8) as f64 / values.len().max(1) as f64;
    let row_bits = row_bits / sampled;
    let plain_bits = (V::BYTES * 8) as f64;
    if row_bits < block_bits && row_bits < plain_bits {
        ROW_DICTIONARY
    } else if block_bits < plain_bits && expected < LARGEST_DICTIONARY as f64 {
        BLOCK_DICTIONARY
    } else {
        V::PLAIN
    }
}

fn bits_for(distinct: usize) -> f64 {
    (distinct.max(1) as f64).log2()
}

fn encode_block_dictionary<V: Float>(
    values: &[V],
    codes: &mut Vec<u32>,
    dictionary: &mut Dictionary,
    out: &mut Vec<u8>,
) -> bool {
    dictionary.clear();
    codes.clear();
    for v in values {
        codes.push(dictionary.code(v.bits()));
        if dictionary.len() > LARGEST_DICTIONARY {
            return false;
        }
    }
    out.push(BLOCK_DICTIONARY);
    out.push(V::BYTES as u8);
    out.extend_from_slice(&(dictionary.len() as u32).to_le_bytes());
    dictionary.entries.iter().for_each(|bits| out.extend_from_slice(&bits.to_le_bytes()[..V::BYTES]));
    packed::encode(codes, out);
    true
}

fn encode_row_dictionaries<V: Float>(
    block: &Block,
    values: &[V],
    codes: &mut Vec<u32>,
    dictionary: &mut Dictionary,
    out: &mut Vec<u8>,
) -> bool {
    codes.clear();
    let mut sizes: Vec<u32> = Vec::with_capacity(block.rows());
    let mut entries: Vec<u8> = Vec::new();
    let (mut order, mut rank): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut start = 0;
    for &end in &block.ends {
        dictionary.clear();
        for v in &values[start..end] {
            let code = dictionary.code(v.bits());
            dictionary.counts[code as usize] += 1;
            codes.push(code);
        }
        if dictionary.len() > LARGEST_DICTIONARY {
            return false;
        }
        order.clear();
        order.extend(0..dictionary.len() as u32);
        order.sort_unstable_by_key(|&code| (std::cmp::Reverse(dictionary.counts[code as usize]), code));
        rank.resize(dictionary.len(), 0);
        for (place, &code) in order.iter().enumerate() {
            rank[code as usize] = place as u32;
            entries.extend_from_slice(&dictionary.entries[code as usize].to_le_bytes()[..V::BYTES]);
        }
        codes[start..].iter_mut().for_each(|code| *code = rank[*code as usize]);
        sizes.push(dictionary.len() as u32);
        start = end;
    }
    out.push(ROW_DICTIONARY);
    out.push(V::BYTES as u8);
    packed::encode(&sizes, out);
    out.extend_from_slice(&entries);
    packed::encode(codes, out);
    true
}
