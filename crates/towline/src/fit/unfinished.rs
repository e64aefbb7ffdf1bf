//! The folder that an interrupted validation is continued from.
use std::path::Path;

use super::error::{FitError, refuse};
use crate::cv::Unfinished;
use crate::output::{self, Claim, Kind};
use crate::store::StoreFingerprint;
use crate::store::{DiskStore, StoreError};

/// What the note in the folder of an unfinished run begins with.
const NOTE: &str = "towline cv:";

/// Where an interrupted run is continued from. What was begun with other folds is thrown away.
pub(super) fn open(
    folder: &Path,
    folds: &str,
    store: &DiskStore,
    restart: bool,
) -> Result<(Unfinished, Claim), FitError> {
    let note = folder.join("folds");
    let store = StoreFingerprint::of(store.manifest());
    let claim = Claim::take(folder)?;
    let wanted = format!("{NOTE} {folds}, {store:?}\n");
    let same = std::fs::read_to_string(&note).is_ok_and(|found| found == wanted);
    if folder.exists() && (restart || !same) {
        remove(folder)?;
    }
    std::fs::create_dir_all(folder).map_err(StoreError::io(folder, "create the folder"))?;
    output::replace(&note, Kind::Note(NOTE), |out| out.write_all(wanted.as_bytes()))?;
    Ok((Unfinished { folder: folder.to_path_buf(), store }, claim))
}

/// Whether a run has left nothing to go on from.
pub(super) fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder)
        .is_ok_and(|mut files| files.all(|file| file.is_ok_and(|file| file.file_name() == "folds")))
}

/// Removes what a run has left, and nothing else: the folder must hold our files only.
pub(super) fn remove(folder: &Path) -> Result<(), FitError> {
    let cannot = || StoreError::io(folder, "remove it");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot())? {
        let path = entry.map_err(cannot())?.path();
        let is_ours = path.file_name().is_some_and(|name| name == "folds")
            || path.extension().is_some_and(|ending| ending == "duals" || ending == "towline-new");
        if !is_ours || !path.symlink_metadata().is_ok_and(|known| known.is_file()) {
            return refuse(format!("{} is not from towline cv; move it out of the way", path.display()));
        }
        files.push(path);
    }
    if !folder.symlink_metadata().is_ok_and(|known| known.is_dir()) {
        return refuse(format!("{} is a link; remove it, or name the data otherwise", folder.display()));
    }
    let removed = files.iter().try_for_each(std::fs::remove_file).and_then(|()| std::fs::remove_dir(folder));
    Ok(removed.map_err(cannot())?)
}
