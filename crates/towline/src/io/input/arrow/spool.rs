//! Files that can be read from any place, as formats with a footer need it.
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use crate::input::bytes::{Compression, Stream};
use crate::input::{InputError, Progress};

/// The file behind an input, if it is one and is not compressed.
pub(super) fn plain_file(stream: &Stream) -> Result<Option<File>, InputError> {
    let Some(path) = stream.path() else { return Ok(None) };
    let fail = |action| move |source| InputError::Io { file: stream.name(), action, source };
    let mut file = File::open(path).map_err(fail("open it"))?;
    let magic = first_bytes(&mut file, 4).map_err(fail("read it"))?;
    Ok((Compression::of(&magic) == Compression::None).then_some(file))
}

/// Up to `bytes` bytes at the beginning of a file, which is then at its beginning again.
pub(super) fn first_bytes(file: &mut File, bytes: u64) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.take(bytes).read_to_end(&mut head)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(head)
}

/// Copies what is left of an input to a file that has no name and goes away by itself.
pub(super) fn copy(name: &str, mut reader: impl Read) -> Result<File, InputError> {
    let fail = |source| InputError::Io { file: name.to_string(), action: "copy it to a temporary file", source };
    let mut file = tempfile::tempfile().map_err(fail)?;
    io::copy(&mut reader, &mut file).map_err(fail)?;
    file.seek(SeekFrom::Start(0)).map_err(fail)?;
    Ok(file)
}

/// Bytes of a file that have been read, for progress; those of a copy were counted when it was made.
pub(super) struct Counter {
    progress: Progress,
    left_bytes: u64,
}

impl Counter {
    pub(super) fn new(progress: &Progress, bytes: u64) -> Self {
        Counter { progress: progress.clone(), left_bytes: bytes }
    }

    /// Counts bytes as read, though never more than there are.
    pub(super) fn add(&mut self, bytes: u64) {
        let bytes = bytes.min(self.left_bytes);
        self.left_bytes -= bytes;
        self.progress.add(bytes);
    }
}
