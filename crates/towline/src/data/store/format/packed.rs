//! Whole numbers in as few bits as the largest of each 128 needs: a byte of width per group, then the groups.
use bitpacking::{BitPacker, BitPacker4x};

use super::FormatError;
use super::bytes::Bytes;

/// Numbers that share a width.
pub const GROUP: usize = BitPacker4x::BLOCK_LEN;
/// Bytes of a group for each bit of width.
const BYTES_PER_BIT: usize = GROUP / 8;

/// Appends `numbers`. Their count is not stored: the reader knows it.
pub fn encode(numbers: &[u32], out: &mut Vec<u8>) {
    let packer = BitPacker4x::new();
    let widths_at = out.len();
    let groups = numbers.len().div_ceil(GROUP);
    out.resize(widths_at + groups, 0);
    let mut padded = [0u32; GROUP];
    for (g, group) in numbers.chunks(GROUP).enumerate() {
        let group = if group.len() == GROUP {
            group
        } else {
            padded[..group.len()].copy_from_slice(group);
            &padded
        };
        let width = packer.num_bits(group);
        out[widths_at + g] = width;
        let at = out.len();
        out.resize(at + width as usize * BYTES_PER_BIT, 0);
        packer.compress(group, &mut out[at..], width);
    }
}

/// Appends `count` numbers to `numbers`, taking them from `bytes`.
pub fn decode(bytes: &mut Bytes, count: usize, numbers: &mut Vec<u32>) -> Result<(), FormatError> {
    let packer = BitPacker4x::new();
    let widths = bytes.take(count.div_ceil(GROUP))?;
    if widths.iter().any(|&width| width > 32) {
        return Err(bytes.error("a group of numbers is more than 32 bits wide"));
    }
    let packed = bytes.take(widths.iter().map(|&width| width as usize * BYTES_PER_BIT).sum())?;
    let begin = numbers.len();
    numbers.resize(begin + count, 0);
    let (groups, rest) = numbers[begin..].as_chunks_mut::<GROUP>();
    let mut at = 0;
    for (group, &width) in groups.iter_mut().zip(widths) {
        packer.decompress(&packed[at..], group, width);
        at += width as usize * BYTES_PER_BIT;
    }
    if let (false, Some(&width)) = (rest.is_empty(), widths.last()) {
        let mut padded = [0u32; GROUP];
        packer.decompress(&packed[at..], &mut padded, width);
        rest.copy_from_slice(&padded[..rest.len()]);
    }
    Ok(())
}

/// Appends the least number and then how far each is above it: nothing at all for numbers that are all the same.
pub fn encode_above_least(numbers: &[u32], out: &mut Vec<u8>) {
    let least = numbers.iter().copied().min().unwrap_or(0);
    out.extend_from_slice(&least.to_le_bytes());
    let above: Vec<u32> = numbers.iter().map(|&n| n - least).collect();
    encode(&above, out);
}

/// The reverse of [`encode_above_least`]; a number beyond 32 bits is an error.
pub fn decode_above_least(mut bytes: Bytes, count: usize, numbers: &mut Vec<u32>) -> Result<(), FormatError> {
    let least = bytes.u32()?;
    let begin = numbers.len();
    decode(&mut bytes, count, numbers)?;
    for number in &mut numbers[begin..] {
        *number = number.checked_add(least).ok_or_else(|| bytes.error("a number does not fit into 32 bits"))?;
    }
    bytes.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(numbers in proptest::collection::vec(any::<u32>(), 0..700), bits in 0u32..32) {
            let numbers: Vec<u32> = numbers.iter().map(|n| n >> bits).collect();
            let mut bytes = Vec::new();
            encode(&numbers, &mut bytes);
            let mut cursor = Bytes::new("test", &bytes);
            let mut back = vec![7];
            decode(&mut cursor, numbers.len(), &mut back).unwrap();
            prop_assert_eq!(&back[1..], &numbers[..]);
            prop_assert!(cursor.finish().is_ok());

            let mut bytes = Vec::new();
            encode_above_least(&numbers, &mut bytes);
            let mut back = Vec::new();
            decode_above_least(Bytes::new("test", &bytes), numbers.len(), &mut back).unwrap();
            prop_assert_eq!(back, numbers);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, count in 0usize..2000) {
            let _ = decode(&mut Bytes::new("test", &bytes), count, &mut Vec::new());
            let _ = decode_above_least(Bytes::new("test", &bytes), count, &mut Vec::new());
        }
    }
}
