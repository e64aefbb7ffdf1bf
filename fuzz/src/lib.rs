//! What the fuzz targets share: blocks that lie under correct checksums.
use towline::store::format::HEADER_BYTES;

/// Sections of a block.
pub const SECTIONS: usize = 7;
/// Where the sizes and checksums of the sections begin.
const SECTION_TABLE: usize = 40;

/// A header and these sections behind it, with all sizes and checksums right.
pub fn signed_block(fields: &[u8; SECTION_TABLE], sections: &[Vec<u8>; SECTIONS]) -> Vec<u8> {
    let mut bytes = fields.to_vec();
    for section in sections {
        bytes.extend_from_slice(&(section.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(section).to_le_bytes());
    }
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    sections.iter().for_each(|section| bytes.extend_from_slice(section));
    bytes
}

/// Takes a block apart: the fields of its header, and its sections.
pub fn parts(block: &[u8]) -> ([u8; SECTION_TABLE], [Vec<u8>; SECTIONS]) {
    let fields = std::array::from_fn(|k| block[k]);
    let mut rest = &block[HEADER_BYTES..];
    let sections = std::array::from_fn(|k| {
        let at = SECTION_TABLE + 12 * k;
        let size = u64::from_le_bytes(std::array::from_fn(|byte| block[at + byte])) as usize;
        let (section, after) = rest.split_at(size);
        rest = after;
        section.to_vec()
    });
    (fields, sections)
}
