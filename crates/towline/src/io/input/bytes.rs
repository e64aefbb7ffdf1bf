//! Opening inputs: files and standard input, plain or compressed, recognised by their first bytes.
use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read, Seek};
use std::path::PathBuf;

use super::window::{self, Window};
use super::{InputError, Progress};
use crate::budget::{Budget, Reservation};

/// Something to read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input, written `-`.
    Stdin,
    /// A file that goes on growing: its end is waited at.
    Follow(PathBuf),
}

impl Input {
    /// `-` is standard input, everything else a path.
    pub fn new(name: &str) -> Self {
        if name == "-" { Input::Stdin } else { Input::File(PathBuf::from(name)) }
    }

    /// The name for messages.
    pub fn name(&self) -> String {
        match self {
            Input::File(path) | Input::Follow(path) => path.display().to_string(),
            Input::Stdin => "standard input".to_string(),
        }
    }

    /// Size on disk, if it has one.
    pub fn size_bytes(&self) -> Option<u64> {
        match self {
            Input::File(path) => std::fs::metadata(path).ok().filter(|m| m.is_file()).map(|m| m.len()),
            Input::Stdin | Input::Follow(_) => None,
        }
    }
}

/// How the bytes of an input are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, also of several members.
    Gzip,
    /// bzip2, also of several streams.
    Bzip2,
    /// Zstandard, also of several frames.
    Zstd,
}

impl Compression {
    /// Recognises the magic number at the beginning of a file.
    pub fn of(head: &[u8]) -> Compression {
        match head {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Bzip2,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            // a skippable Zstandard frame, as pzstd writes first
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// What a failure to read `file` to its end means: damage, if it was the unpacking that failed and not the system.
    pub fn read_error(self, file: &str, source: io::Error) -> InputError {
        if self == Compression::None || source.raw_os_error().is_some() {
            return InputError::Io { file: file.to_string(), action: "read it to its end", source };
        }
        if window::is_too_large(&source) {
            let problem = "parts of its Zstandard data need a larger window than the budget allows";
            return InputError::file(file, problem, "use more `memory`, or pack the file anew without --long");
        }
        let format = match self {
            Compression::Gzip => "gzip",
            Compression::Bzip2 => "bzip2",
            _ => "Zstandard",
        };
        let problem = format!("the {format} data is damaged or ends too early ({source})");
        InputError::file(file, problem, "copy or download the file again")
    }
}

/// A readable stream of plain bytes that counts what it takes from the disk.
pub struct Opened {
    /// The plain bytes.
    pub reader: Box<dyn Read + Send>,
    /// How they were compressed.
    pub compression: Compression,
    /// Whether more bytes may take long to come, and how to see if they are there.
    live: Option<Live>,
    /// Whether the last byte has been read.
    pub ended: bool,
}

/// An input whose writer may be slow.
enum Live {
    Stdin,
    /// The same open file, position included.
    File(File),
}

impl Live {
    /// Whether reading would not have to wait.
    fn is_ready(&mut self) -> bool {
        match self {
            Live::Stdin => {
                let mut wanted = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
                // SAFETY: one descriptor, on the stack, and no waiting.
                unsafe { libc::poll(&raw mut wanted, 1, 0) != 0 }
            }
            Live::File(file) => {
                file.stream_position().is_ok_and(|at| file.metadata().is_ok_and(|known| known.len() > at))
            }
        }
    }
}

impl Opened {
    /// Fills `buffer` as far as the input goes. Where the rest would have to be waited for, what has come so far is
    /// enough if it has a line.
    pub fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(live) = &mut self.live else {
            let got = read_fully(&mut self.reader, buffer)?;
            self.ended = got < buffer.len();
            return Ok(got);
        };
        self.ended = false;
        let mut filled = 0;
        while filled < buffer.len() {
            if memchr::memchr(b'\n', &buffer[..filled]).is_some() && !live.is_ready() {
                break;
            }
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

/// An input, or one that was opened already because its beginning had to be seen and a pipe cannot be read twice.
pub struct Stream {
    input: Input,
    opened: Option<Opened>,
}

impl From<Input> for Stream {
    fn from(input: Input) -> Self {
        Stream { input, opened: None }
    }
}

impl Stream {
    /// Looks at the first `bytes` plain bytes of an input without losing them: a file is opened anew afterwards, a pipe
    /// stays open.
    pub fn peek(
        input: &Input,
        bytes: usize,
        budget: &Budget,
        progress: &Progress,
    ) -> Result<(Stream, Vec<u8>), InputError> {
        // What is read of a file here is read and counted again.
        let unseen = Progress::default();
        let opens_anew = input.size_bytes().is_some();
        let mut opened = open(input, budget, if opens_anew { &unseen } else { progress })?;
        let mut head = vec![0; bytes];
        let seen = opened.fill(&mut head).map_err(|source| opened.compression.read_error(&input.name(), source))?;
        head.truncate(seen);
        if opens_anew {
            return Ok((input.clone().into(), head));
        }
        let reader = Box::new(Cursor::new(head.clone()).chain(opened.reader));
        let opened = Opened { reader, ended: false, ..opened };
        Ok((Stream { input: input.clone(), opened: Some(opened) }, head))
    }

    /// The name for messages.
    pub fn name(&self) -> String {
        self.input.name()
    }

    /// The same from its beginning, if it can be read twice.
    pub fn again(&self) -> Option<Stream> {
        self.path().map(|_| self.input.clone().into())
    }

    /// The file, if it can be read from any place.
    pub fn path(&self) -> Option<&std::path::Path> {
        match &self.input {
            Input::File(path) if self.opened.is_none() && self.input.size_bytes().is_some() => Some(path),
            _ => None,
        }
    }

    /// The plain bytes from the beginning.
    pub fn open(self, budget: &Budget, progress: &Progress) -> Result<Opened, InputError> {
        match self.opened {
            Some(opened) => Ok(opened),
            None => open(&self.input, budget, progress),
        }
    }
}

/// What unpacking takes where blocks are as large as bzip2 makes them: 900,000 bytes, and 4 for each of them to sort
/// them back.
const BZIP2_BYTES: u64 = 4 << 20;

/// What unpacking a file will take where so much is free, judging by its first bytes; nothing is known of a pipe.
pub fn unpacking_bytes(input: &Input, free_bytes: u64) -> u64 {
    let Input::File(path) = input else { return 0 };
    let mut head = [0u8; window::HEADER_BYTES];
    let is_file = std::fs::metadata(path).is_ok_and(|known| known.is_file());
    let seen = File::open(path).ok().filter(|_| is_file).and_then(|mut file| read_fully(&mut file, &mut head).ok());
    let head = &head[..seen.unwrap_or(0)];
    match Compression::of(head) {
        Compression::None | Compression::Gzip => 0,
        Compression::Bzip2 => BZIP2_BYTES,
        Compression::Zstd => Window::needed_bytes(head, free_bytes),
    }
}

/// Opens an input and unpacks it on the way, adding the bytes taken from disk to `progress`.
pub fn open(input: &Input, budget: &Budget, progress: &Progress) -> Result<Opened, InputError> {
    let name = input.name();
    let fail = |action| {
        let file = name.clone();
        move |source| InputError::Io { file, action, source }
    };
    let mut live = None;
    let raw: Box<dyn Read + Send> = match input {
        Input::Stdin => {
            live = Some(Live::Stdin);
            Box::new(io::stdin())
        }
        Input::File(path) | Input::Follow(path) => {
            let file = File::open(path).map_err(fail("open it"))?;
            if file.metadata().map_err(fail("look at it"))?.is_dir() {
                return Err(InputError::file(
                    &name,
                    "this is a folder",
                    "name the files in it, or use a glob such as 'folder/*.svm'",
                ));
            }
            match input {
                Input::Follow(_) => {
                    live = Some(Live::File(file.try_clone().map_err(fail("open it"))?));
                    Box::new(Following(file))
                }
                _ => Box::new(file),
            }
        }
    };
    let mut counted = Counted { inner: raw, progress: progress.clone() };
    let mut head = [0u8; window::HEADER_BYTES];
    let seen = read_fully(&mut counted, &mut head).map_err(fail("read it"))?;
    let compression = Compression::of(&head[..seen]);
    let whole: Chain<Cursor<Vec<u8>>, Counted> = Cursor::new(head[..seen].to_vec()).chain(counted);
    let reader: Box<dyn Read + Send> = match compression {
        Compression::None => Box::new(whole),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole))),
        Compression::Bzip2 => {
            let paid = budget.reserve("unpacking bzip2 data", BZIP2_BYTES);
            let paid = paid.map_err(|source| InputError::Budget { file: name.clone(), source })?;
            let reader = bzip2::bufread::MultiBzDecoder::new(BufReader::with_capacity(1 << 16, whole));
            Box::new(Paid { reader, _paid: paid })
        }
        Compression::Zstd => {
            let window = Window::of(&head[..seen], budget);
            let window = window.map_err(|source| InputError::Budget { file: name.clone(), source })?;
            let mut decoder = zstd::stream::read::Decoder::new(whole).map_err(fail("unpack it"))?;
            decoder.window_log_max(window.largest_log).map_err(fail("unpack it"))?;
            Box::new(Paid { reader: decoder, _paid: window.paid })
        }
    };
    // Unpacking reads ahead anyway.
    let live = live.filter(|_| compression == Compression::None);
    Ok(Opened { reader, compression, live, ended: false })
}

/// How long the end of a growing file is left alone.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(100);

/// A file that is read as it grows.
struct Following(File);

impl Read for Following {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer)? {
                0 if !buffer.is_empty() => std::thread::sleep(PATIENCE),
                got => return Ok(got),
            }
        }
    }
}

/// Fills `buffer` as far as the input goes, and says how far that is.
pub fn read_fully(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// A reader, and what it keeps in memory.
struct Paid<R> {
    reader: R,
    _paid: Reservation,
}

impl<R: Read> Read for Paid<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}

struct Counted {
    inner: Box<dyn Read + Send>,
    progress: Progress,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.progress.add(n as u64);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read_back(packed: &[u8]) -> io::Result<(Compression, Vec<u8>)> {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(packed)?;
        let progress = Progress::default();
        let input = Input::File(file.path().into());
        let mut opened = open(&input, &Budget::unlimited(), &progress).map_err(io::Error::other)?;
        let mut plain = Vec::new();
        opened.reader.read_to_end(&mut plain)?;
        assert_eq!(progress.read_bytes(), packed.len() as u64);
        Ok((opened.compression, plain))
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn every_compression_is_recognised_and_may_come_in_several_parts() {
        let bzip2 = |text: &[u8]| {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        };
        let zstd = |text: &[u8]| zstd::encode_all(text, 1).unwrap();
        let plain = |text: &[u8]| text.to_vec();
        type Pack<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;
        let cases: [(Compression, Pack); 4] = [
            (Compression::None, &plain),
            (Compression::Gzip, &gzip),
            (Compression::Bzip2, &bzip2),
            (Compression::Zstd, &zstd),
        ];
        for (compression, pack) in cases {
            let twice = [pack(b"+1 1:1\n"), pack(b"-1 2:1\n")].concat();
            assert_eq!(read_back(&twice).unwrap(), (compression, b"+1 1:1\n-1 2:1\n".to_vec()));
        }
    }

    #[test]
    fn a_truncated_archive_is_an_error_not_an_end() {
        let mut packed = gzip(&b"+1 1:1\n".repeat(100));
        packed.truncate(packed.len() - 9);
        assert!(read_back(&packed).is_err());
    }

    #[test]
    fn unpacking_is_paid_for_as_long_as_the_input_is_open() {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(b"+1 1:1\n").unwrap();
        for packed in [encoder.finish().unwrap(), zstd::encode_all(&b"+1 1:1\n"[..], 1).unwrap()] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&packed).unwrap();
            let input = Input::File(file.path().into());
            let budget = Budget::new(8 << 20);
            let opened = open(&input, &budget, &Progress::default()).unwrap();
            assert!(budget.free_bytes() < 6 << 20);
            drop(opened);
            assert_eq!(budget.free_bytes(), 8 << 20);
            let refused = open(&input, &Budget::new(100), &Progress::default());
            assert!(matches!(refused, Err(InputError::Budget { .. })));
        }
    }

    #[test]
    fn the_empty_file_is_plain() {
        assert_eq!(read_back(b"").unwrap(), (Compression::None, Vec::new()));
    }
}
