//! Files that appear whole or not at all.
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::publish::{make_durable, publish};
use super::{Claim, Inputs, Kind, OutputError, Seen, name};
use crate::write_back::WrittenBack;

/// The place of an output, from the beginning of a run to its end.
#[derive(Debug)]
pub struct OutputFile {
    /// As it was named.
    path: PathBuf,
    /// The same without links.
    target: PathBuf,
    kind: Kind,
    /// What was there, with its permissions.
    seen: Option<(Seen, Permissions)>,
    /// A pipe or a device: written as it is.
    is_direct: bool,
    _claim: Option<Claim>,
}

impl OutputFile {
    /// Looks whether `path` can be written, and claims it. Nothing is changed yet.
    pub fn open(path: &Path, kind: Kind, inputs: &Inputs) -> Result<OutputFile, OutputError> {
        inputs.check(path)?;
        if is_direct(path) && kind.is_text() {
            let (path, target) = (path.to_path_buf(), path.to_path_buf());
            return Ok(OutputFile { path, target, kind, seen: None, is_direct: true, _claim: None });
        }
        let target = resolved(path)?;
        let claim = Some(Claim::take(&target)?);
        let seen = look(&target, &kind)?;
        Ok(OutputFile { path: path.to_path_buf(), target, kind, seen, is_direct: false, _claim: claim })
    }

    /// The path as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins to write. The file at the path stays what it is until [`NewFile::publish`].
    pub fn begin(&mut self) -> Result<NewFile<'_>, OutputError> {
        if self.is_direct {
            let file = File::options().write(true).open(&self.path).map_err(OutputError::io(&self.path, "open it"))?;
            return Ok(NewFile { unfinished: None, out: BufWriter::new(WrittenBack::new(file)), place: self });
        }
        let unfinished = name::unfinished(&self.target)?;
        let file = create(&unfinished).map_err(OutputError::io(&self.path, "create it"))?;
        Ok(NewFile { unfinished: Some(unfinished), out: BufWriter::new(WrittenBack::new(file)), place: self })
    }

    /// Writes all of it.
    pub fn write(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), OutputError> {
        let path = self.path.clone();
        let mut file = self.begin()?;
        write(&mut file).map_err(OutputError::io(&path, "write it"))?;
        file.publish()
    }
}

/// Writes a file once, in place of one of the same kind or of nothing, under the claim of somebody else.
pub fn replace(
    path: &Path,
    kind: Kind,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), OutputError> {
    let target = resolved(path)?;
    let seen = look(&target, &kind)?;
    OutputFile { path: path.to_path_buf(), target, kind, seen, is_direct: false, _claim: None }.write(write)
}

/// A file on its way.
#[derive(Debug)]
pub struct NewFile<'a> {
    place: &'a mut OutputFile,
    unfinished: Option<PathBuf>,
    out: BufWriter<WrittenBack>,
}

impl NewFile<'_> {
    /// Makes the file appear at its place, synced, in one step.
    pub fn publish(mut self) -> Result<(), OutputError> {
        let path = self.place.path.clone();
        self.out.flush().map_err(OutputError::io(&path, "write it"))?;
        if self.unfinished.is_some() {
            self.out.get_ref().file().sync_all().map_err(OutputError::io(&path, "sync it"))?;
            self.appear()?;
        }
        Ok(())
    }

    /// Makes the file appear empty, to be written where everybody sees it grow.
    pub fn publish_growing(mut self) -> Result<File, OutputError> {
        let file = self.out.get_ref().file().try_clone().map_err(OutputError::io(&self.place.path, "open it"))?;
        if self.unfinished.is_some() {
            self.appear()?;
        }
        Ok(file)
    }

    fn appear(&mut self) -> Result<(), OutputError> {
        let Some(unfinished) = self.unfinished.clone() else { return Ok(()) };
        let place = &mut *self.place;
        let file = self.out.get_ref().file();
        if let Some((_, permissions)) = &place.seen {
            file.set_permissions(permissions.clone()).map_err(OutputError::io(&place.path, "write it"))?;
        }
        let known = file.metadata().map_err(OutputError::io(&place.path, "look at it"))?;
        // It may have changed since the beginning.
        if place.seen.is_some() {
            look(&place.target, &place.kind)?;
        }
        publish(&unfinished, &place.target, place.seen.as_ref().map(|seen| seen.0))?;
        if place.seen.is_some() {
            let _ = std::fs::remove_file(&unfinished);
        }
        self.unfinished = None;
        place.seen = Some((Seen::of(&known), known.permissions()));
        make_durable(&place.target, "it is written")
    }
}

impl Write for NewFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        if let Some(unfinished) = &self.unfinished {
            let _ = std::fs::remove_file(unfinished);
        }
    }
}

/// A new file that cannot have been there before, nor be a link to elsewhere.
fn create(path: &Path) -> io::Result<File> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(openat(CWD, path, flags, Mode::from_raw_mode(0o666))?.into())
}

/// A pipe, a device, or standard output by one of its names.
fn is_direct(path: &Path) -> bool {
    let is_special = |known: std::fs::Metadata| !known.is_file() && !known.is_dir();
    let names = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];
    names.iter().any(|name| path.starts_with(name)) || std::fs::metadata(path).is_ok_and(is_special)
}

/// The path itself, or where the link at the path leads to.
pub(crate) fn resolved(path: &Path) -> Result<PathBuf, OutputError> {
    match std::fs::symlink_metadata(path) {
        Ok(known) if known.is_symlink() => {
            std::fs::canonicalize(path).map_err(OutputError::io(path, "follow the link"))
        }
        _ => Ok(path.to_path_buf()),
    }
}

/// What is at `target`, which must be a file of this kind or nothing.
fn look(target: &Path, kind: &Kind) -> Result<Option<(Seen, Permissions)>, OutputError> {
    let known = match std::fs::symlink_metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        known => known.map_err(OutputError::io(target, "look at it"))?,
    };
    let other = || OutputError::OtherKind { path: target.to_path_buf(), kind: kind.describe() };
    if !known.is_file() {
        return Err(other());
    }
    let mut head = Vec::new();
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(CWD, target, flags, Mode::empty())
        .map_err(|error| OutputError::io(target, "look at it")(error.into()))?;
    File::from(file).take(kind.head_bytes()).read_to_end(&mut head).map_err(OutputError::io(target, "look at it"))?;
    match kind.fits(&head, head.len() as u64 == known.len()) {
        true => Ok(Some((Seen::of(&known), known.permissions()))),
        false => Err(other()),
    }
}
