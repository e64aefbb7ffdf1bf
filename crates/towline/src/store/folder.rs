//! What a writer does with whole folders: hold them, clear them, put them into place in one step.
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use super::StoreError;
use super::manifest::Manifest;

/// The folder that the store at `target` lies in.
pub(super) fn parent(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The folder in which the store at `target` grows.
pub(super) fn partial(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_os_string();
    name.push(".partial");
    target.with_file_name(name)
}

/// Holds `folder` against other writers until the returned handle is dropped, however the process ends.
pub(crate) fn lock(folder: &Path, target: &Path) -> Result<File, StoreError> {
    let handle = File::open(folder).map_err(StoreError::io(folder, "open it"))?;
    // SAFETY: a plain system call on a descriptor that we own.
    if unsafe { libc::flock(handle.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
        return Err(StoreError::Busy { path: target.to_path_buf() });
    }
    Ok(handle)
}

pub(super) fn remove_contents(folder: &Path) -> Result<(), StoreError> {
    for entry in fs::read_dir(folder).map_err(StoreError::io(folder, "list it"))? {
        let path = entry.map_err(StoreError::io(folder, "list it"))?.path();
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(StoreError::io(&path, "remove what an earlier run left"))?;
    }
    Ok(())
}

/// Removes what a replacement that was killed left beside a store, unless somebody is at work on it.
pub(super) fn remove_abandoned(folder: &Path) {
    if let Ok(_lock) = lock(folder, folder) {
        let _ = fs::remove_dir_all(folder);
    }
}

/// Removes old stores whose replacement was interrupted after the new one was in place.
pub(super) fn remove_replaced(partial: &Path) -> Result<(), StoreError> {
    let folder = parent(partial);
    let pattern = partial.with_extension("replaced-");
    let Some(prefix) = pattern.file_name().and_then(|name| name.to_str()) else { return Ok(()) };
    for entry in fs::read_dir(folder).map_err(StoreError::io(folder, "list it"))?.flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(prefix)) {
            // Its owner may be removing it at this moment, which is as good.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// Removes files that look like ours and that the manifest does not list.
pub(super) fn remove_unlisted(store: &Path, manifest: &Manifest) -> Result<(), StoreError> {
    let listed: Vec<PathBuf> = std::iter::once(&manifest.table)
        .chain(&manifest.feature_maps)
        .chain(&manifest.block_files)
        .map(|file| store.join(&file.name))
        .collect();
    for folder in [store.to_path_buf(), store.join(super::writer::BLOCK_FOLDER)] {
        for entry in fs::read_dir(&folder).map_err(StoreError::io(&folder, "list it"))?.flatten() {
            let path = entry.path();
            let ours = path.extension().is_some_and(|e| ["blk", "tab", "map", "new"].iter().any(|known| e == *known));
            if ours && path.is_file() && !listed.contains(&path) {
                fs::remove_file(&path).map_err(StoreError::io(&path, "remove what an earlier run left"))?;
            }
        }
    }
    Ok(())
}

/// Writes a file under another name, syncs it, and renames it into place.
pub(crate) fn write_synced(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let (path, new) = (folder.join(name), folder.join(format!("{name}.new")));
    let mut file = File::create(&new).map_err(StoreError::io(&new, "create it"))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(StoreError::io(&new, "write it"))?;
    fs::rename(&new, &path).map_err(StoreError::io(&path, "replace it"))
}

pub(crate) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder).and_then(|handle| handle.sync_all()).map_err(StoreError::io(folder, "sync it"))
}

/// Swaps two paths in one step.
pub(crate) fn exchange(a: &Path, b: &Path) -> std::io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let a = std::ffi::CString::new(a.as_os_str().as_bytes())?;
    let b = std::ffi::CString::new(b.as_os_str().as_bytes())?;
    // SAFETY: both strings end with NUL and live until the call returns.
    let result =
        unsafe { libc::renameat2(libc::AT_FDCWD, a.as_ptr(), libc::AT_FDCWD, b.as_ptr(), libc::RENAME_EXCHANGE) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
