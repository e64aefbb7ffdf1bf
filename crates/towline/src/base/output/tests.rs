use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::*;

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn write(place: &mut OutputFile, text: &str) -> Result<(), OutputError> {
    place.write(|out| out.write_all(text.as_bytes()))
}

fn open(path: &Path) -> Result<OutputFile, OutputError> {
    OutputFile::open(path, Kind::Liblinear, &Inputs::none())
}

#[test]
fn a_file_appears_whole_and_may_be_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let mut place = open(&path).unwrap();
    assert!(!path.exists(), "nothing is there before it is written");
    for text in ["solver_type 1", "solver_type 2"] {
        write(&mut place, text).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    drop(place);
    write(&mut open(&path).unwrap(), "solver_type 3").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(entries(folder.path()), ["a"]);
}

#[test]
fn what_appears_meanwhile_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let mut free = open(&path).unwrap();
    fs::write(&path, "solver_type mine").unwrap();
    assert!(matches!(write(&mut free, "solver_type 1"), Err(OutputError::Appeared { .. })));
    drop(free);
    let mut taken = open(&path).unwrap();
    fs::rename(&path, folder.path().join("away")).unwrap();
    fs::write(&path, "solver_type mine").unwrap();
    let error = write(&mut taken, "solver_type 2").unwrap_err().to_string();
    assert!(error.ends_with("a.2"), "{error}");
    drop(taken);
    assert_eq!(fs::read_to_string(&path).unwrap(), "solver_type mine");
    assert_eq!(fs::read_to_string(folder.path().join("a.2")).unwrap(), "solver_type 2");
    assert_eq!(entries(folder.path()), ["a", "a.1", "a.2", "away"]);
}

#[test]
fn one_run_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let first = open(&path).unwrap();
    assert!(matches!(open(&path), Err(OutputError::Busy { .. })));
    drop(first);
    open(&path).unwrap();
    assert_eq!(entries(folder.path()), [""; 0]);
    let lock = folder.path().join(".a.towline-lock");
    fs::write(folder.path().join("precious"), "").unwrap();
    symlink("precious", &lock).unwrap();
    assert!(matches!(open(&path), Err(OutputError::ForeignLock { .. })));
    fs::remove_file(&lock).unwrap();
    fs::write(&lock, "mine").unwrap();
    assert!(matches!(open(&path), Err(OutputError::ForeignLock { .. })));
    assert_eq!(fs::read_to_string(&lock).unwrap(), "mine");
}

#[test]
fn inputs_and_other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("a"), folder.path().join("link"));
    fs::write(&path, "solver_type").unwrap();
    fs::hard_link(&path, &link).unwrap();
    let inputs = Inputs::none().and(&path);
    assert!(matches!(OutputFile::open(&link, Kind::Liblinear, &inputs), Err(OutputError::IsInput { .. })));
    let store = Inputs::none().and(folder.path());
    let within = OutputFile::open(&folder.path().join("new"), Kind::Model, &store);
    assert!(matches!(within, Err(OutputError::IsInput { .. })));
    for kind in [Kind::Model, Kind::Duals, Kind::Trace, Kind::Json, Kind::Weights, Kind::Table("a,b"), Kind::Manual] {
        let refused = OutputFile::open(&path, kind.clone(), &Inputs::none());
        assert!(matches!(refused, Err(OutputError::OtherKind { .. })), "{kind:?}");
        assert!(matches!(replace(&path, kind, |_| Ok(())), Err(OutputError::OtherKind { .. })));
    }
    assert!(matches!(open(folder.path()), Err(OutputError::OtherKind { .. })));
    assert_eq!(entries(folder.path()), ["a", "link"]);
}

#[test]
fn links_lead_to_where_they_lead() {
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("a"), folder.path().join("link"));
    fs::write(&path, "").unwrap();
    symlink("a", &link).unwrap();
    write(&mut open(&link).unwrap(), "solver_type").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&path).unwrap(), "solver_type");
}

#[test]
fn folders_are_removed_only_with_our_marker() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("s.tow");
    let left = NewFolder::create(&target).unwrap();
    let marked = left.path().to_path_buf();
    std::mem::forget(left.handle().try_clone().unwrap());
    let foreign = folder.path().join(".s.tow.0123456789abcdef.towline-new");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("thesis.txt"), "mine").unwrap();
    remove_all(&target);
    assert!(!marked.exists());
    assert!(foreign.join("thesis.txt").exists());
}

fn remove_all(target: &Path) {
    super::folder::remove_left_overs(target);
}

#[test]
fn a_folder_replaces_only_the_one_that_is_held() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("s.tow");
    let make = |text: &str| {
        let made = NewFolder::create(&target).unwrap();
        create_in(made.handle(), "file").unwrap().write_all(text.as_bytes()).unwrap();
        made
    };
    make("1").publish(None).unwrap();
    assert_eq!(entries(&target), ["file"]);
    assert!(matches!(make("2").publish(None), Err(OutputError::Appeared { .. })));
    let held = fs::File::open(&target).unwrap();
    make("3").publish(Some(&held)).unwrap();
    assert_eq!(fs::read_to_string(target.join("file")).unwrap(), "3");
    let error = make("4").publish(Some(&held)).unwrap_err();
    assert!(matches!(error, OutputError::Io { .. } | OutputError::Appeared { .. }), "{error}");
    assert_eq!(fs::read_to_string(target.join("file")).unwrap(), "3");
    let names: Vec<String> = entries(folder.path()).into_iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(names, [""; 0]);
}

#[test]
fn scratch_is_gone_with_its_run_or_with_the_next_one() {
    let first = ScratchFolder::create("output-test").unwrap();
    let second = ScratchFolder::create("output-test").unwrap();
    assert!(first.path().exists() && second.path() != first.path(), "those at work are left alone");
    let path = first.path().to_path_buf();
    drop(first);
    assert!(!path.exists());
}

#[test]
fn a_folder_whose_marker_was_being_written_is_removed() {
    let parent = tempfile::tempdir().unwrap();
    let target = parent.path().join("rows.tow");
    let begin = |name: &str, marker: &str| {
        let folder = parent.path().join(format!(".rows.tow.{name}.towline-new"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join(".towline-unfinished"), marker).unwrap();
        folder
    };
    let empty = begin("0123456789abcdef", "");
    let half = begin("1123456789abcdef", "An unfinished fol");
    let foreign = begin("2123456789abcdef", "A thesis");
    let more = begin("3123456789abcdef", "");
    std::fs::write(more.join("thesis"), "").unwrap();
    remove_all(&target);
    assert!(!empty.exists() && !half.exists());
    assert!(foreign.join(".towline-unfinished").exists() && more.join("thesis").exists());
}
