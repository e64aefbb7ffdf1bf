//! The first version of a feature map, read as a whole.
//!
//! ```text
//! "TOWF" │ version u16 = 1 │ named u8 │ scaled u8 │ count u64
//! numbered: count x u64, the feature numbers in column order
//! named:    count x u32 (column ─► place), count x u64 (ends of the names in order of place), names
//! scaled:   count x (shift f64, factor f64) in column order: stored = (raw - shift) · factor
//! ```
use super::Scaling;
use super::chunks::Chunk;

pub const VERSION: u16 = 1;
/// Bytes before the first feature.
pub const HEADER_BYTES: usize = 16;

/// The features of `bytes`, a whole file that has the mark of this version.
pub fn parse(bytes: &[u8]) -> Result<Chunk, String> {
    let early = || "it ends too early".to_string();
    let mut rest = bytes;
    let mut take = |n: usize| {
        let (taken, after) = rest.split_at_checked(n).ok_or_else(early)?;
        rest = after;
        Ok::<_, String>(taken)
    };
    let header = take(HEADER_BYTES)?;
    let (named, scaled) = (header[6] == 1, header[7] == 1);
    let count = u64::from_le_bytes(std::array::from_fn(|k| header[8 + k]));
    let count = usize::try_from(count).ok().filter(|&n| n <= bytes.len()).ok_or_else(early)?;
    let numbers =
        |bytes: &[u8]| -> Vec<u64> { bytes.as_chunks::<8>().0.iter().map(|&b| u64::from_le_bytes(b)).collect() };
    let mut chunk = Chunk::default();
    if named {
        let places = take(count * 4)?.as_chunks::<4>().0;
        let ends = numbers(take(count * 8)?);
        let text = take(usize::try_from(ends.last().copied().unwrap_or(0)).map_err(|_| early())?)?;
        let text = std::str::from_utf8(text).map_err(|_| "a name is not UTF-8".to_string())?;
        if !ends.is_sorted() || ends.iter().any(|&end| !text.is_char_boundary(end as usize)) {
            return Err("the names overlap".into());
        }
        for place in places.iter().map(|&place| u32::from_le_bytes(place) as usize) {
            let Some(&end) = ends.get(place) else { return Err("a column refers to no name".into()) };
            let start = if place == 0 { 0 } else { ends[place - 1] };
            chunk.text.push_str(&text[start as usize..end as usize]);
            chunk.ends.push(chunk.text.len() as u64);
            // A name may be referred to once: the text of all columns is no longer than the file.
            if chunk.text.len() > text.len() {
                return Err("two columns have the same name".into());
            }
        }
    } else {
        chunk.numbers = numbers(take(count * 8)?);
    }
    if scaled {
        for pair in take(count * 16)?.as_chunks::<16>().0 {
            let at = |from: usize| f64::from_le_bytes(std::array::from_fn(|k| pair[from + k]));
            let pair = Scaling { shift: at(0), factor: at(8) };
            if !pair.shift.is_finite() || !pair.factor.is_finite() {
                return Err("a scale is not finite".into());
            }
            chunk.scaling.push(pair);
        }
    }
    if !rest.is_empty() {
        return Err("it has bytes left over".into());
    }
    Ok(chunk)
}
