//! The folder that an interrupted run is continued from.
use std::path::Path;

use anyhow::{Context, bail};
use towline::cv::Unfinished;
use towline::output::{self, Claim, Kind};
use towline::store::DiskStore;
use towline::trainer::StoreFingerprint;

use super::Arguments;

/// What the note in the folder of an unfinished run begins with.
const NOTE: &str = "towline cv:";

/// Where an interrupted run is continued from. What was begun with other folds is thrown away.
pub fn open(arguments: &Arguments, store: &DiskStore) -> anyhow::Result<(Unfinished, Claim)> {
    let folder = arguments.data.with_extension("cv");
    let note = folder.join("folds");
    let store = StoreFingerprint::of(store.manifest());
    let (folds, seed, stratify, split) = (arguments.folds, arguments.seed, arguments.stratify, arguments.split_groups);
    let claim = Claim::take(&folder)?;
    let wanted = format!("{NOTE} {folds} folds, seed {seed}, stratify {stratify}, split groups {split}, {store:?}\n");
    let same = std::fs::read_to_string(&note).is_ok_and(|found| found == wanted);
    if folder.exists() && (arguments.restart || !same) {
        remove(&folder)?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    output::replace(&note, Kind::Note(NOTE), |out| out.write_all(wanted.as_bytes()))?;
    Ok((Unfinished { folder, store }, claim))
}

/// Whether a run has left nothing to go on from.
pub fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder)
        .is_ok_and(|mut files| files.all(|file| file.is_ok_and(|file| file.file_name() == "folds")))
}

/// Removes what a run has left, and nothing else: the folder must hold our files only.
pub fn remove(folder: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot remove {}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        let is_ours = path.file_name().is_some_and(|name| name == "folds")
            || path.extension().is_some_and(|ending| ending == "duals" || ending == "towline-new");
        if !is_ours || !path.symlink_metadata().is_ok_and(|known| known.is_file()) {
            bail!("{} is not from towline cv; move it out of the way", path.display());
        }
        files.push(path);
    }
    if !folder.symlink_metadata().is_ok_and(|known| known.is_dir()) {
        bail!("{} is a link; remove it, or name the data otherwise", folder.display());
    }
    files.iter().try_for_each(std::fs::remove_file).and_then(|()| std::fs::remove_dir(folder)).with_context(cannot)
}
