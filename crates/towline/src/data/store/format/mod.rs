//! A block as bytes: header, then seven sections, each with its own checksum. `docs/format.md` draws it byte by byte.
//!
//! ```text
//! header │ lengths │ columns │ values │ labels │ weights │ groups │ ids
//! ```
//! Decoding trusts nothing: the header carries a checksum, sizes are held against what the store's index promises
//! before anything is allocated, each section is checked before it is used, and every column is held against the
//! dimension.
pub(super) mod bytes;
mod columns;
pub(super) mod packed;
mod scalars;
mod values;

pub use values::encoding_name;

use crate::block::{Block, Layout, ValueKind};
use bytes::Bytes;

/// Sections in the order in which they lie in the file.
pub const SECTIONS: [&str; 7] = ["lengths", "columns", "values", "labels", "weights", "groups", "ids"];
const LENGTHS: usize = 0;
const COLUMNS: usize = 1;
const VALUES: usize = 2;
const LABELS: usize = 3;
const WEIGHTS: usize = 4;
const GROUPS: usize = 5;
const IDS: usize = 6;

const MAGIC: [u8; 4] = *b"TOWB";
/// The version of blocks whose rows have one target, and of those with several.
const VERSIONS: [u16; 2] = [1, 2];
/// More targets than this a row are no data.
const MOST_TARGETS: u32 = 1 << 20;
/// Bytes of the header: 40 of fields, 12 per section, 4 of checksum.
pub const HEADER_BYTES: usize = 40 + 12 * SECTIONS.len() + 4;

/// A block's bytes are not what they should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{section}: {problem}")]
pub struct FormatError {
    /// The part of the block.
    pub section: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

impl FormatError {
    pub(crate) fn new(section: &'static str, problem: impl Into<String>) -> Self {
        FormatError { section, problem: problem.into() }
    }
}

/// What the header of a block says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// How the rows lie in memory when decoded as small as possible.
    pub layout: Layout,
    /// Rows in the block.
    pub rows: u32,
    /// Values in the block.
    pub values: u64,
    /// Every column is below this.
    pub columns: u64,
    section_bytes: [u64; SECTIONS.len()],
    section_checksums: [u32; SECTIONS.len()],
}

impl Header {
    /// Reads and checks the header at the beginning of `block`.
    pub fn parse(block: &[u8]) -> Result<Header, FormatError> {
        let fail = |problem: &str| FormatError::new("header", problem);
        let header = block.get(..HEADER_BYTES).ok_or_else(|| fail("the block is shorter than a header"))?;
        let (fields, checksum) = header.split_at(HEADER_BYTES - 4);
        let mut bytes = Bytes::new("header", fields);
        if bytes.take(4)? != MAGIC {
            return Err(fail("this is not a Towline block"));
        }
        if crc32c::crc32c(fields) != u32::from_le_bytes([checksum[0], checksum[1], checksum[2], checksum[3]]) {
            return Err(fail("checksum mismatch"));
        }
        let version = bytes.u16()?;
        if !VERSIONS.contains(&version) {
            return Err(FormatError::new(
                "header",
                format!("format version {version}; this program reads versions {} and {}", VERSIONS[0], VERSIONS[1]),
            ));
        }
        let dense = bytes.u8()? == 1;
        let values_kind = match bytes.u8()? {
            0 => ValueKind::Ones,
            1 => ValueKind::PerRow,
            2 => ValueKind::F32,
            3 => ValueKind::F64,
            _ => return Err(fail("unknown kind of values")),
        };
        if dense && values_kind < ValueKind::F32 {
            return Err(fail("dense rows without values"));
        }
        let rows = bytes.u32()?;
        let targets = if version == VERSIONS[0] { bytes.u32().map(|_| 1)? } else { bytes.u32()? };
        if !(1..=MOST_TARGETS).contains(&targets) {
            return Err(fail("an impossible number of targets"));
        }
        let _reserved = bytes.take(8)?;
        let (values, columns) = (bytes.u64()?, bytes.u64()?);
        let mut section_bytes = [0; SECTIONS.len()];
        let mut section_checksums = [0; SECTIONS.len()];
        for (size, checksum) in section_bytes.iter_mut().zip(&mut section_checksums) {
            *size = bytes.u64()?;
            *checksum = bytes.u32()?;
        }
        if columns > 1 << 32 {
            return Err(fail("more than 2^32 columns"));
        }
        let layout = Layout { dense, values: values_kind, targets };
        Ok(Header { layout, rows, values, columns, section_bytes, section_checksums })
    }

    fn write(&self, out: &mut [u8]) {
        let mut fields = Vec::with_capacity(HEADER_BYTES);
        fields.extend_from_slice(&MAGIC);
        let several = self.layout.targets > 1;
        fields.extend_from_slice(&VERSIONS[usize::from(several)].to_le_bytes());
        fields.push(u8::from(self.layout.dense));
        fields.push(self.layout.values as u8);
        fields.extend_from_slice(&self.rows.to_le_bytes());
        fields.extend_from_slice(&(if several { self.layout.targets } else { 0 }).to_le_bytes());
        fields.extend_from_slice(&[0; 8]);
        fields.extend_from_slice(&self.values.to_le_bytes());
        fields.extend_from_slice(&self.columns.to_le_bytes());
        for (size, checksum) in self.section_bytes.iter().zip(&self.section_checksums) {
            fields.extend_from_slice(&size.to_le_bytes());
            fields.extend_from_slice(&checksum.to_le_bytes());
        }
        fields.extend_from_slice(&crc32c::crc32c(&fields).to_le_bytes());
        out.copy_from_slice(&fields);
    }

    /// Bytes of header and sections together.
    pub fn block_bytes(&self) -> Option<u64> {
        self.section_bytes.iter().try_fold(HEADER_BYTES as u64, |sum, &size| sum.checked_add(size))
    }

    /// Bytes of each section.
    pub fn section_bytes(&self) -> &[u64; SECTIONS.len()] {
        &self.section_bytes
    }
}

/// The most rows or values that a block of this size can hold: every encoding spends at least a byte on each 128 of
/// them. What is allocated for a block is bounded by this, whatever its header says.
pub fn most_values(block_bytes: u64) -> u64 {
    block_bytes.saturating_mul(packed::GROUP as u64)
}

/// Memory that encoding takes besides the block itself, for a block of `block_bytes` in memory with at most `values`
/// values: its numbers on their way, its bytes while they grow, and the dictionary.
pub fn encoding_bytes(block_bytes: u64, values: u64) -> u64 {
    2 * block_bytes + values::Dictionary::most_bytes(values)
}

/// Buffers that encoding and decoding need besides the block, kept between blocks.
#[derive(Default)]
pub struct Scratch {
    lengths: Vec<u32>,
    numbers: Vec<u32>,
    dictionary: values::Dictionary,
}

/// Appends `block` to `out` as bytes and returns its header.
pub fn encode(block: &Block, scratch: &mut Scratch, out: &mut Vec<u8>) -> Header {
    let block = &*block.numbered();
    let begin = out.len();
    out.resize(begin + HEADER_BYTES, 0);
    let mut section_bytes = [0; SECTIONS.len()];
    let mut section_checksums = [0; SECTIONS.len()];
    scratch.lengths.clear();
    scratch.lengths.extend((0..block.rows()).map(|i| block.row_len(i) as u32));
    let layout = values::least_layout(block);
    let rows = block.rows();
    for section in 0..SECTIONS.len() {
        let from = out.len();
        match section {
            LENGTHS => packed::encode_above_least(&scratch.lengths, out),
            COLUMNS => columns::encode(block, layout.dense, &mut scratch.numbers, out),
            VALUES => values::encode(block, layout.values, &mut scratch.numbers, &mut scratch.dictionary, out),
            LABELS => encode_labels(block, out),
            WEIGHTS => scalars::encode_floats(&block.weights, out),
            GROUPS => scalars::encode_integers(&block.groups, &mut scratch.numbers, out),
            _ => scalars::encode_integers(&block.ids, &mut scratch.numbers, out),
        }
        section_bytes[section] = (out.len() - from) as u64;
        section_checksums[section] = crc32c::crc32c(&out[from..]);
    }
    let (values, columns) = (block.values() as u64, block.columns() as u64);
    let header = Header { layout, rows: rows as u32, values, columns, section_bytes, section_checksums };
    header.write(&mut out[begin..begin + HEADER_BYTES]);
    header
}

/// Appends the rows of the encoded `bytes` to `block`, whose layout must be able to hold them. On failure the block is
/// as it was before.
///
/// The caller has held [`Header::rows`] and [`Header::values`] against a promise that a budget has paid for.
pub fn decode(bytes: &[u8], block: &mut Block, scratch: &mut Scratch) -> Result<(), FormatError> {
    let header = Header::parse(bytes)?;
    let rows_before = block.rows();
    let result = decode_sections(&header, bytes, block, scratch);
    if result.is_err() {
        // Arrays may be of different lengths now; cutting each one back restores the invariant.
        block.truncate(rows_before);
    }
    result
}

fn decode_sections(header: &Header, bytes: &[u8], block: &mut Block, scratch: &mut Scratch) -> Result<(), FormatError> {
    if header.layout.targets != block.layout().targets {
        let (here, there) = (header.layout.targets, block.layout().targets);
        return Err(FormatError::new("header", format!("{here} targets a row, and the store has {there}")));
    }
    if block.layout().join(header.layout) != block.layout() {
        return Err(FormatError::new("header", "the block holds other values than the store promises"));
    }
    if header.columns > block.columns() as u64 {
        return Err(FormatError::new("header", "the block has more columns than the store"));
    }
    let most = most_values(bytes.len() as u64);
    if header.values > most || u64::from(header.rows) > most {
        return Err(FormatError::new("header", "more rows or values than the block has bytes for"));
    }
    let sections = checked_sections(header, bytes)?;
    let (rows, values) = (header.rows as usize, header.values as usize);
    scratch.lengths.clear();
    packed::decode_above_least(Bytes::new("lengths", sections[LENGTHS]), rows, &mut scratch.lengths)?;
    if scratch.lengths.iter().map(|&n| u64::from(n)).sum::<u64>() != header.values {
        return Err(FormatError::new("lengths", "the row lengths do not add up to the number of values"));
    }
    block.reserve(rows, values);
    columns::decode(Bytes::new("columns", sections[COLUMNS]), header, &scratch.lengths, block)?;
    values::decode(Bytes::new("values", sections[VALUES]), header, scratch, block)?;
    decode_labels(Bytes::new("labels", sections[LABELS]), rows, block)?;
    scalars::decode_floats(Bytes::new("weights", sections[WEIGHTS]), rows, &mut block.weights)?;
    scalars::decode_integers(Bytes::new("groups", sections[GROUPS]), rows, &mut scratch.numbers, &mut block.groups)?;
    scalars::decode_integers(Bytes::new("ids", sections[IDS]), rows, &mut scratch.numbers, &mut block.ids)?;
    let mut end = block.values();
    for &length in &scratch.lengths {
        end += length as usize;
        block.ends.push(end);
    }
    Ok(())
}

/// Holds the encoded `bytes` of a block against their checksums.
pub fn check(bytes: &[u8]) -> Result<(), FormatError> {
    checked_sections(&Header::parse(bytes)?, bytes).map(|_| ())
}

/// One list for each target, one after the other.
fn encode_labels(block: &Block, out: &mut Vec<u8>) {
    scalars::encode_floats(&block.labels, out);
    for place in 0..block.layout().targets as usize - 1 {
        let list: Vec<f64> = block.further.list(place).collect();
        scalars::encode_floats(&list, out);
    }
}

fn decode_labels(mut bytes: Bytes, rows: usize, block: &mut Block) -> Result<(), FormatError> {
    scalars::decode_list(&mut bytes, rows, &mut block.labels)?;
    let mut further = Vec::new();
    for _ in 1..block.layout().targets {
        scalars::decode_list(&mut bytes, rows, &mut further)?;
    }
    block.further.extend_by_place(rows, &further);
    bytes.finish()
}

/// Cuts `bytes` into sections and holds each against its checksum.
fn checked_sections<'a>(header: &Header, bytes: &'a [u8]) -> Result<[&'a [u8]; SECTIONS.len()], FormatError> {
    if header.block_bytes() != Some(bytes.len() as u64) {
        return Err(FormatError::new("header", "the sections do not add up to the size of the block"));
    }
    let mut sections = [&bytes[..0]; SECTIONS.len()];
    let mut rest = &bytes[HEADER_BYTES..];
    for (k, section) in sections.iter_mut().enumerate() {
        let (this, after) = rest.split_at(header.section_bytes[k] as usize);
        if crc32c::crc32c(this) != header.section_checksums[k] {
            return Err(FormatError::new(SECTIONS[k], "checksum mismatch"));
        }
        (*section, rest) = (this, after);
    }
    Ok(sections)
}

/// Where in a block with this header the values begin; the first byte of them names their encoding.
pub fn values_at(header: &[u8]) -> Option<u64> {
    let header = Header::parse(header).ok()?;
    header.section_bytes[LENGTHS].checked_add(header.section_bytes[COLUMNS])?.checked_add(HEADER_BYTES as u64)
}

#[cfg(test)]
mod tests;
