//! Whether a packed page unpacks to what its header says.
//!
//! Snappy, Zstandard and raw LZ4 are unpacked by the parquet crate into as many bytes as the header says, and end
//! there. Of gzip, brotli and frames of
//! LZ4 it takes all that comes, so these are unpacked to nowhere first.
use std::io::{self, Read};

use parquet::basic::Compression;

/// The largest window of brotli, and the largest block of a frame of LZ4 before and after it is unpacked.
const LARGEST_BUFFER_BYTES: u64 = 17 << 20;

/// What unpacking takes besides both forms of the page.
pub(super) fn buffer_bytes(packing: Compression) -> u64 {
    match packing {
        Compression::BROTLI(_) | Compression::LZ4 => LARGEST_BUFFER_BYTES,
        _ => 0,
    }
}

/// Whether a page takes no more than `room` bytes. What cannot be unpacked ends the parquet crate where it ends here.
pub(super) fn fits(packed: &[u8], packing: Compression, room: u64) -> bool {
    match packing {
        Compression::GZIP(_) => ends_within(flate2::read::MultiGzDecoder::new(packed), room),
        Compression::BROTLI(_) => ends_within(brotli::Decompressor::new(packed, 4096), room),
        Compression::LZ4 => ends_within(lz4_flex::frame::FrameDecoder::new(packed), room),
        _ => true,
    }
}

fn ends_within(mut input: impl Read, room: u64) -> bool {
    let (mut buffer, mut bytes) = ([0; 8 << 10], 0);
    loop {
        match input.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return true,
            Ok(read) => bytes += read as u64,
        }
        if bytes > room {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn pages_that_unpack_to_more_are_found() {
        let page = vec![7; 100_000];
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&page).unwrap();
        let gzip = gzip.finish().unwrap();
        let mut brotli = Vec::new();
        brotli::CompressorWriter::new(&mut brotli, 4096, 5, 22).write_all(&page).unwrap();
        let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
        lz4.write_all(&page).unwrap();
        let lz4 = lz4.finish().unwrap();
        let kinds = [
            (gzip, Compression::GZIP(Default::default())),
            (brotli, Compression::BROTLI(Default::default())),
            (lz4, Compression::LZ4),
        ];
        for (packed, packing) in kinds {
            assert!(packed.len() < 1000, "{packing}");
            assert!(fits(&packed, packing, 100_000), "{packing}");
            assert!(!fits(&packed, packing, 99_999), "{packing}");
        }
        assert!(fits(&page, Compression::SNAPPY, 1));
    }
}
