//! Where lines go: a file that appears whole, or standard output.
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::Path;

use anyhow::Context;
use towline::output::{Inputs, Kind, NewFile, OutputError, OutputFile};

use crate::show;

/// The place of an output.
pub struct Destination {
    file: Option<OutputFile>,
}

/// An output on its way.
pub enum Lines<'a> {
    File(NewFile<'a>),
    Standard(BufWriter<StdoutLock<'static>>),
}

impl Destination {
    /// The file at `path`, which must be of this `kind` if it is there, and none of `inputs`; standard output without
    /// one.
    pub fn open(path: Option<&Path>, kind: Kind, inputs: &Inputs) -> Result<Destination, OutputError> {
        Ok(Destination { file: path.map(|path| OutputFile::open(path, kind, inputs)).transpose()? })
    }

    /// Begins to write.
    pub fn begin(&mut self) -> Result<Lines<'_>, OutputError> {
        Ok(match &mut self.file {
            Some(file) => Lines::File(file.begin()?),
            None => Lines::Standard(BufWriter::new(io::stdout().lock())),
        })
    }
}

impl Lines<'_> {
    /// All is written: lets a file appear.
    pub fn finish(self) -> anyhow::Result<()> {
        match self {
            Lines::File(file) => Ok(file.publish()?),
            Lines::Standard(mut out) => out.flush().context(show::STDOUT),
        }
    }
}

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Lines::File(file) => file.write(bytes),
            Lines::Standard(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Lines::File(file) => file.flush(),
            Lines::Standard(out) => out.flush(),
        }
    }
}
