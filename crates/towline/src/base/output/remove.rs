//! Removing a folder of ours so that whatever is left of it, if anything fails, is still known to be ours.
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, unlinkat};
use rustix::io::Errno;

use super::folder::{MARKER, open_folder};

/// Removes a folder with all that is in it, the marker last. Links are not followed.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    empty(&open_folder(CWD, path)?, &mut |folder, name, flags| unlinkat(folder, name, flags))?;
    std::fs::remove_dir(path)
}

/// Takes a name out of a folder.
type Unlink<'a> = dyn FnMut(&File, &CStr, AtFlags) -> Result<(), Errno> + 'a;

fn empty(folder: &File, unlink: &mut Unlink) -> io::Result<()> {
    let mut marker = None;
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        match name.to_bytes() {
            b"." | b".." => {}
            bytes if bytes == MARKER.as_bytes() => marker = Some(name.to_owned()),
            _ => remove(folder, name, unlink)?,
        }
    }
    // A folder without a marker is not removed by the next run, unless it is empty.
    marker.map_or(Ok(()), |marker| Ok(unlink(folder, &marker, AtFlags::empty())?))
}

fn remove(folder: &File, name: &CStr, unlink: &mut Unlink) -> io::Result<()> {
    match unlink(folder, name, AtFlags::empty()) {
        // Linux has the first word for a folder, POSIX the second.
        Err(Errno::ISDIR | Errno::PERM) => {
            empty(&open_folder(folder, name)?, unlink)?;
            Ok(unlink(folder, name, AtFlags::REMOVEDIR)?)
        }
        done => Ok(done?),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::NewFolder;
    use super::super::folder::remove_left_overs;
    use super::*;

    #[test]
    fn what_could_not_be_removed_is_removed_by_the_next_run() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("rows");
        for failing in 0.. {
            let new = NewFolder::create(&target).unwrap();
            let folder = new.path().to_path_buf();
            for number in 0..8 {
                fs::write(folder.join(format!("{number}.block")), "rows").unwrap();
            }
            fs::create_dir(folder.join("index")).unwrap();
            fs::write(folder.join("index/pages"), "").unwrap();
            let mut calls = 0;
            let emptied = empty(&open_folder(CWD, &folder).unwrap(), &mut |folder, name, flags| {
                calls += 1;
                if calls == failing + 1 { Err(Errno::IO) } else { unlinkat(folder, name, flags) }
            });
            assert_eq!(emptied.is_err(), calls > failing);
            remove_left_overs(&target);
            assert!(!folder.exists(), "call {failing} of {calls} failed");
            drop(new);
            if emptied.is_ok() {
                // Eight files, one in a folder that is tried as a file first, and the marker.
                assert_eq!(calls, 12);
                break;
            }
        }
    }
}
