//! Columns of all rows: nothing for dense rows; else the gaps between neighbours, bit-packed.
//!
//! Features are numbered by frequency, so the first gaps of a row are tiny and later ones grow smoothly: groups of 128
//! gaps need few bits each. Rows whose columns do not ascend (rows on their way through the packer) are packed as they
//! are.
use super::bytes::Bytes;
use super::{FormatError, Header, packed};
use crate::block::Block;

const DENSE: u8 = 0;
const GAPS: u8 = 1;
const PLAIN: u8 = 2;

pub fn encode(block: &Block, dense: bool, gaps: &mut Vec<u32>, out: &mut Vec<u8>) {
    if dense {
        out.push(DENSE);
        return;
    }
    let columns = block.indices.narrow();
    if gaps_of(&columns, &block.ends, gaps) {
        out.push(GAPS);
        packed::encode(gaps, out);
    } else {
        out.push(PLAIN);
        packed::encode(&columns, out);
    }
}

/// Fills `gaps` with the distance of each column from the one after its predecessor; `false` if columns do not ascend.
fn gaps_of(columns: &[u32], ends: &[usize], gaps: &mut Vec<u32>) -> bool {
    gaps.clear();
    gaps.reserve(columns.len());
    let mut start = 0;
    for &end in ends {
        let mut next = 0u64;
        for &column in &columns[start..end] {
            if u64::from(column) < next {
                return false;
            }
            gaps.push((u64::from(column) - next) as u32);
            next = u64::from(column) + 1;
        }
        start = end;
    }
    true
}

pub fn decode(mut bytes: Bytes, header: &Header, lengths: &[u32], block: &mut Block) -> Result<(), FormatError> {
    let tag = bytes.u8()?;
    if (tag == DENSE) != header.layout.dense {
        return Err(bytes.error("the header says otherwise about dense rows"));
    }
    let values = header.values as usize;
    let (is_dense, width) = (block.layout().dense, block.columns() as u64);
    let indices = block.indices.own();
    let begin = indices.len();
    match tag {
        DENSE => {
            if lengths.iter().any(|&length| u64::from(length) != header.columns) {
                return Err(bytes.error("a dense row has too few values"));
            }
            if !is_dense {
                lengths.iter().for_each(|&length| indices.extend(0..length));
            } else if header.columns != width {
                return Err(bytes.error("dense rows of different lengths"));
            }
        }
        GAPS => {
            packed::decode(&mut bytes, values, indices)?;
            let mut rest = &mut indices[begin..];
            for &length in lengths {
                let (row, after) = rest.split_at_mut(length as usize);
                let mut next = 0u64;
                for column in row {
                    next += u64::from(*column);
                    *column = next as u32;
                    next += 1;
                }
                // `next` only grows, so one comparison a row covers all of its columns.
                if next > header.columns {
                    return Err(bytes.error("a column is beyond the last one"));
                }
                rest = after;
            }
        }
        PLAIN => {
            packed::decode(&mut bytes, values, indices)?;
            if indices[begin..].iter().any(|&column| u64::from(column) >= header.columns) {
                return Err(bytes.error("a column is beyond the last one"));
            }
        }
        _ => return Err(bytes.error("unknown encoding")),
    }
    bytes.finish()
}
