//! Reading values back, whatever their encoding: bytes from disk are not trusted.
use super::{BLOCK_DICTIONARY, F32, F64, Float, ONES, PER_ROW, ROW_DICTIONARY};
use crate::block::{Block, Values};
use crate::store::format::bytes::Bytes;
use crate::store::format::{FormatError, Header, Scratch, packed};

/// Appends the values of a block to `block`, whose layout says what is expected.
pub fn decode(bytes: Bytes, header: &Header, scratch: &mut Scratch, block: &mut Block) -> Result<(), FormatError> {
    let Scratch { lengths, numbers, .. } = scratch;
    match &mut block.values {
        Values::Ones => decode_ones(bytes),
        Values::PerRow(constants) => decode_constants(bytes, header.rows as usize, constants),
        Values::F32(v) => decode_floats(bytes, header, lengths, numbers, v.own()),
        Values::F64(v) => decode_floats(bytes, header, lengths, numbers, v.own()),
    }
}

fn decode_ones(mut bytes: Bytes) -> Result<(), FormatError> {
    match bytes.u8()? {
        ONES => bytes.finish(),
        _ => Err(bytes.error("values in a block of ones")),
    }
}

fn decode_constants(mut bytes: Bytes, rows: usize, constants: &mut Vec<f64>) -> Result<(), FormatError> {
    match bytes.u8()? {
        ONES => constants.extend(std::iter::repeat_n(1.0, rows)),
        PER_ROW => {
            for &item in bytes.items::<8>(rows)? {
                let constant = f64::from_le_bytes(item);
                if !constant.is_finite() {
                    return Err(bytes.error("a value is not finite"));
                }
                constants.push(constant);
            }
        }
        _ => return Err(bytes.error("values in a block of one value per row")),
    }
    bytes.finish()
}

fn decode_floats<V: Float>(
    mut bytes: Bytes,
    header: &Header,
    lengths: &[u32],
    codes: &mut Vec<u32>,
    out: &mut Vec<V>,
) -> Result<(), FormatError> {
    let values = header.values as usize;
    let begin = out.len();
    match bytes.u8()? {
        ONES => out.extend(std::iter::repeat_n(V::from_f32(1.0), values)),
        PER_ROW => {
            for (&item, &length) in bytes.items::<8>(lengths.len())?.iter().zip(lengths) {
                out.extend(std::iter::repeat_n(V::from_f64(f64::from_le_bytes(item)), length as usize));
            }
        }
        F32 => out.extend(bytes.items::<4>(values)?.iter().map(|&b| V::from_f32(f32::from_le_bytes(b)))),
        F64 => out.extend(bytes.items::<8>(values)?.iter().map(|&b| V::from_f64(f64::from_le_bytes(b)))),
        BLOCK_DICTIONARY => {
            let width = bytes.u8()?;
            let size = bytes.u32()? as usize;
            let dictionary = read_entries::<V>(&mut bytes, width, size)?;
            codes.clear();
            packed::decode(&mut bytes, values, codes)?;
            look_up(&bytes, codes, &dictionary, out)?;
        }
        ROW_DICTIONARY => {
            let width = bytes.u8()?;
            let mut sizes = Vec::with_capacity(lengths.len());
            packed::decode(&mut bytes, lengths.len(), &mut sizes)?;
            let total: u64 = sizes.iter().map(|&n| u64::from(n)).sum();
            let entries = read_entries::<V>(&mut bytes, width, total.min(usize::MAX as u64 / 16) as usize)?;
            codes.clear();
            packed::decode(&mut bytes, values, codes)?;
            let (mut entries, mut rest) = (&entries[..], &codes[..]);
            for (&length, &size) in lengths.iter().zip(&sizes) {
                let (dictionary, other_entries) = entries.split_at(size as usize);
                let (row, other_rows) = rest.split_at(length as usize);
                look_up(&bytes, row, dictionary, out)?;
                (entries, rest) = (other_entries, other_rows);
            }
        }
        _ => return Err(bytes.error("unknown encoding")),
    }
    if out[begin..].iter().any(|v| !v.is_finite()) {
        return Err(bytes.error("a value is not finite"));
    }
    bytes.finish()
}

fn read_entries<V: Float>(bytes: &mut Bytes, width: u8, count: usize) -> Result<Vec<V>, FormatError> {
    match width {
        4 => Ok(bytes.items::<4>(count)?.iter().map(|&b| V::from_f32(f32::from_le_bytes(b))).collect()),
        8 => Ok(bytes.items::<8>(count)?.iter().map(|&b| V::from_f64(f64::from_le_bytes(b))).collect()),
        _ => Err(bytes.error("dictionary entries of neither 4 nor 8 bytes")),
    }
}

fn look_up<V: Float>(bytes: &Bytes, codes: &[u32], dictionary: &[V], out: &mut Vec<V>) -> Result<(), FormatError> {
    // One pass to find the largest code lets the second run without a test per value.
    let largest = codes.iter().copied().max().unwrap_or(0) as usize;
    if largest >= dictionary.len() && !codes.is_empty() {
        return Err(bytes.error("a code beyond the dictionary"));
    }
    // SAFETY: every code is at most `largest`, which is inside the dictionary.
    out.extend(codes.iter().map(|&code| unsafe { *dictionary.get_unchecked(code as usize) }));
    Ok(())
}
