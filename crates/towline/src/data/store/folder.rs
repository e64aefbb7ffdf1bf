//! What a writer does with the folder of a store: hold it, and tell what is ours in it from what is not.
use std::fs::File;
use std::io::Write;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, flock, renameat, statat, unlinkat};

use super::StoreError;
use super::manifest::{FILE_NAME, Manifest};
use super::writer::BLOCK_FOLDER;
use crate::output::{self, MARKER, create_in, open_folder};

/// Files of an index, in its folder.
const INDEX_FILES: [&str; 3] = ["index.json", "pages.dat", "nodes.tab"];
const INDEX_FOLDER: &str = "index";

/// Holds `folder` against other writers until the returned handle is dropped, however the process ends.
pub(crate) fn lock(folder: &Path, target: &Path) -> Result<File, StoreError> {
    let handle = File::open(folder).map_err(StoreError::io(folder, "open it"))?;
    match flock(&handle, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(handle),
        Err(_) => Err(StoreError::Busy { path: target.to_path_buf() }),
    }
}

/// The folder of block files, which must be a folder of the store and no link to elsewhere: files in it are removed
/// and written.
pub(super) fn open_blocks(store: &File, path: &Path) -> Result<File, StoreError> {
    let blocks = path.join(BLOCK_FOLDER);
    let damaged =
        |error| StoreError::damaged(&blocks, format!("it is no folder that rows could be added to ({error})"));
    open_folder(store, Path::new(BLOCK_FOLDER)).map_err(damaged)
}

/// The name and type of everything in an open folder.
fn entries(folder: &File, path: &Path) -> Result<Vec<(String, FileType)>, StoreError> {
    let list = || -> std::io::Result<Vec<(String, FileType)>> {
        let mut found = Vec::new();
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == "." || name == ".." {
                continue;
            }
            let known = statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
            found.extend(known.map(|known| (name, FileType::from_raw_mode(known.st_mode))).ok());
        }
        Ok(found)
    };
    list().map_err(StoreError::io(path, "list it"))
}

/// `stem.N.ending`, as table and feature maps are called.
fn is_numbered(name: &str, stem: &str, ending: &str) -> bool {
    let middle = name.strip_prefix(stem).and_then(|rest| rest.strip_suffix(ending));
    middle.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_block_file(name: &str) -> bool {
    is_numbered(name, "", ".blk")
}

fn is_small_file(name: &str) -> bool {
    is_numbered(name, "blocks.", ".tab") || is_numbered(name, "features.", ".map") || name == MARKER
}

/// What killed writers of the manifest or the index have left.
fn is_unfinished(name: &str) -> bool {
    [FILE_NAME, INDEX_FOLDER].iter().any(|target| output::belongs_to(name.as_ref(), Path::new(target)))
}

/// Something in a store that no store has, if there is any: who replaces the store would lose it.
pub(super) fn foreign(store: &File, path: &Path) -> Result<Option<String>, StoreError> {
    for (name, kind) in entries(store, path)? {
        let ours = match kind {
            FileType::Directory if name == BLOCK_FOLDER => is_block_file,
            FileType::Directory if name == INDEX_FOLDER => |name: &str| INDEX_FILES.contains(&name) || name == MARKER,
            FileType::RegularFile if name == FILE_NAME || is_small_file(&name) => continue,
            _ if is_unfinished(&name) => continue,
            _ => return Ok(Some(name)),
        };
        let below = path.join(&name);
        let folder = open_folder(store, Path::new(&name)).map_err(StoreError::io(&below, "open it"))?;
        let is_ours = |(name, kind): &(String, FileType)| *kind == FileType::RegularFile && ours(name);
        if let Some((other, _)) = entries(&folder, &below)?.into_iter().find(|entry| !is_ours(entry)) {
            return Ok(Some(format!("{name}/{other}")));
        }
    }
    Ok(None)
}

/// Something in the folder of an index that no index has, if there is any.
pub(crate) fn foreign_in_index(index: &File, path: &Path) -> Result<Option<String>, StoreError> {
    let is_ours = |name: &str| INDEX_FILES.contains(&name) || name == MARKER;
    Ok(entries(index, path)?.into_iter().map(|(name, _)| name).find(|name| !is_ours(name)))
}

/// Removes files that have names of ours and that the manifest does not list.
pub(super) fn remove_unlisted(store: &File, blocks: &File, path: &Path, manifest: &Manifest) -> Result<(), StoreError> {
    let files = || std::iter::once(&manifest.table).chain(&manifest.feature_maps).chain(&manifest.block_files);
    let remove = |folder: &File, name: &str| match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) => Ok(()),
        Err(error) => Err(StoreError::io(&path.join(name), "remove what an earlier run left")(error.into())),
    };
    for (name, kind) in entries(store, path)? {
        let is_left = is_small_file(&name) || output::belongs_to(name.as_ref(), Path::new(FILE_NAME));
        if kind == FileType::RegularFile && is_left && !files().any(|file| file.name == name) {
            remove(store, &name)?;
        }
    }
    for (name, kind) in entries(blocks, &path.join(BLOCK_FOLDER))? {
        let listed = format!("{BLOCK_FOLDER}/{name}");
        if kind == FileType::RegularFile && is_block_file(&name) && !files().any(|file| file.name == listed) {
            remove(blocks, &name)?;
        }
    }
    Ok(())
}

/// Writes a file under a name that nobody else has, syncs it, and renames it to `name`.
pub(crate) fn write_synced(folder: &File, path: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let unfinished = output::unfinished(Path::new(name))?;
    let unfinished = unfinished.file_name().unwrap_or_default().to_string_lossy();
    let here = path.join(name);
    let mut file = create_in(folder, &unfinished).map_err(StoreError::io(&here, "create it"))?;
    let moved = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| Ok(renameat(folder, &*unfinished, folder, name)?));
    moved.map_err(|error| {
        let _ = unlinkat(folder, &*unfinished, AtFlags::empty());
        StoreError::io(&here, "write it")(error)
    })
}
