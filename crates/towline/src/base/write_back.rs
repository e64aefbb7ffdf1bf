//! Large files do not wait in the page cache.
//!
//! Pages that wait to be written count as memory of the control group of a process, which cannot give them back before
//! they are on disk; a group with nothing else to give back is ended. So writing begins early, and the writer waits for
//! what it has begun before.
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// Bytes of which writing begins at one time.
const PIECE_BYTES: u64 = 1 << 20;
/// At most so much waits; less would leave the disk idle.
const MOST_WAITING_BYTES: u64 = 8 << 20;

/// A file that is written from its beginning to its end.
#[derive(Debug)]
pub struct WrittenBack {
    file: File,
    bytes: u64,
    /// How far writing has begun, and how far it has come at least.
    begun: u64,
    done: u64,
}

impl WrittenBack {
    /// Nothing is written yet.
    pub fn new(file: File) -> Self {
        WrittenBack { file, bytes: 0, begun: 0, done: 0 }
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Appends all of `bytes` wherever the file was written last; for files that are read at the same time.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.bytes)?;
        self.wrote(bytes.len());
        Ok(())
    }

    /// Bytes that have been written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn wrote(&mut self, count: usize) {
        self.bytes += count as u64;
        if self.bytes - self.begun < PIECE_BYTES {
            return;
        }
        self.sync_range(self.begun, self.bytes, libc::SYNC_FILE_RANGE_WRITE);
        self.begun = self.bytes;
        if self.begun - self.done > MOST_WAITING_BYTES {
            let end = self.begun - MOST_WAITING_BYTES;
            let wait = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE;
            self.sync_range(self.done, end, wait | libc::SYNC_FILE_RANGE_WAIT_AFTER);
            self.done = end;
        }
    }

    fn sync_range(&self, from: u64, to: u64, flags: libc::c_uint) {
        // SAFETY: a plain system call on a file that we own. Where it fails, as with a pipe, the final sync takes
        // longer.
        unsafe { libc::sync_file_range(self.file.as_raw_fd(), from as i64, (to - from) as i64, flags) };
    }
}

impl Write for WrittenBack {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.wrote(count);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_written_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let text: Vec<u8> = (0..MOST_WAITING_BYTES + 3 * PIECE_BYTES + 77).map(|k| (k * k % 251) as u8).collect();
        let mut file = WrittenBack::new(File::create(&path).unwrap());
        text.chunks(100_000).for_each(|piece| file.write_all(piece).unwrap());
        assert!(std::fs::read(&path).unwrap() == text);
        let mut file = WrittenBack::new(File::create(&path).unwrap());
        text.chunks(999_999).for_each(|piece| file.append(piece).unwrap());
        assert_eq!(file.bytes(), text.len() as u64);
        assert!(std::fs::read(&path).unwrap() == text);
    }
}
