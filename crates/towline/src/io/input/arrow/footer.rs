//! The footer of a Parquet file, looked at before anything is built from it.
//!
//! A footer says how many row groups it has, and how many children each part of the schema: numbers that the parquet
//! crate makes room for
//! before it reads the first of them, and parts of parts that it follows as deep as they go.
//! ```text
//! 2 schema: a list of elements, whose field 5 is the number of children that follow │ 4 row groups
//! ```
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;

use super::compact::{Compact, I32, LIST, STRUCT, wrong};

/// The length of the footer and the magic number behind it.
const TAIL_BYTES: u64 = 8;
/// Columns within columns. Lists of maps of lists are six deep.
const DEEPEST_SCHEMA: usize = 64;
/// What a part of the footer takes once it is built: a column of a row group, with its statistics, is the largest.
const PART_BYTES: u64 = 1 << 10;

/// Bytes that the parquet crate may take for the footer of this file; nothing, if it has none. A footer that
/// contradicts itself is an error.
pub(super) fn bytes_to_build(file: &File) -> io::Result<u64> {
    let size = file.metadata()?.len();
    let Some(tail) = size.checked_sub(TAIL_BYTES) else { return Ok(0) };
    let mut length = [0; 4];
    file.read_exact_at(&mut length, tail)?;
    let length = u64::from(u32::from_le_bytes(length));
    let Some(begin) = tail.checked_sub(length) else { return Ok(0) };
    let mut input = BufReader::new(At { file, at: begin }).take(length);
    let parts = parts(&mut input)?;
    Ok(length.saturating_mul(2).saturating_add(parts.saturating_mul(PART_BYTES)))
}

/// A file from some place on.
struct At<'a> {
    file: &'a File,
    at: u64,
}

impl Read for At<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Structs and items of lists in a footer.
fn parts(input: impl Read) -> io::Result<u64> {
    let mut compact = Compact::new(input);
    let mut last = 0;
    while let Some((number, kind)) = compact.field(&mut last)? {
        match (number, kind) {
            (2, LIST) => schema(&mut compact)?,
            (_, kind) => compact.skip(kind)?,
        }
    }
    Ok(compact.structs)
}

/// The elements of a schema, each before its children.
fn schema<R: Read>(compact: &mut Compact<R>) -> io::Result<()> {
    let (elements, kind) = compact.list()?;
    if kind != STRUCT {
        return Err(wrong());
    }
    // Children that are still to come, of each element on the way down.
    let mut open: Vec<u64> = Vec::new();
    for number in 0..elements {
        if number > 0 {
            let Some(left) = open.last_mut() else { return Err(wrong()) };
            *left -= 1;
        }
        let children = children(compact)?;
        if children > elements - number - 1 {
            return Err(wrong());
        }
        open.push(children);
        while open.last() == Some(&0) {
            open.pop();
        }
        if open.len() > DEEPEST_SCHEMA {
            return Err(wrong());
        }
    }
    Ok(())
}

/// Field 5 of an element.
fn children<R: Read>(compact: &mut Compact<R>) -> io::Result<u64> {
    compact.structs += 1;
    let (mut last, mut children) = (0, 0);
    while let Some((number, kind)) = compact.field(&mut last)? {
        match (number, kind) {
            (5, I32) => children = compact.count()?,
            (_, kind) => compact.skip(kind)?,
        }
    }
    Ok(children)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A schema of elements with so many children each.
    fn footer(children: &[u8], claimed: u8) -> Vec<u8> {
        let mut bytes = vec![0x29, claimed << 4 | STRUCT];
        children.iter().for_each(|&children| bytes.extend([0x55, children << 1, 0]));
        bytes.push(0);
        bytes
    }

    #[test]
    fn a_schema_has_the_elements_that_it_says() {
        assert_eq!(parts(&footer(&[2, 0, 0], 3)[..]).unwrap(), 3);
        assert_eq!(parts(&footer(&[2, 1, 0, 0], 4)[..]).unwrap(), 4);
        for (children, claimed) in [(&[2, 0][..], 2), (&[0, 0], 2), (&[1, 63], 2), (&[2, 0, 0], 14)] {
            assert!(parts(&footer(children, claimed)[..]).is_err(), "{children:?}");
        }
    }

    #[test]
    fn lists_have_the_items_that_they_say() {
        // Row groups: 2³⁴ of them, and none is there.
        let many = [0x49, 0xfc, 0x80, 0x80, 0x80, 0x80, 0x40];
        assert!(parts(&many[..]).is_err());
        assert_eq!(parts(&[0x49, 0x2c, 0, 0, 0][..]).unwrap(), 2);
    }

    #[test]
    fn nothing_is_endlessly_deep() {
        assert!(parts(&[0x1c; 5000][..]).is_err(), "structs");
        assert!(parts(&[0x19; 5000][..]).is_err(), "lists");
        let mut deep = vec![0x29, 0xfc, 0x80, 0x01];
        (0..128).for_each(|number| deep.extend([0x55, if number < 127 { 2 } else { 0 }, 0]));
        deep.push(0);
        assert!(parts(&deep[..]).is_err(), "a chain of columns");
    }
}
