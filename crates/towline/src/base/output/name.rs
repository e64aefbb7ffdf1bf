//! The names that we make up.
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, Hasher};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::OutputError;

const UNFINISHED: &[u8] = b".towline-new";
const LOCK: &[u8] = b".towline-lock";
const DIGITS: usize = 16;
/// A name has at most 255 bytes; this much of it is left to the output's own.
const LONGEST_STEM: usize = 200;

/// The folder that `target` lies in.
pub fn parent(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// `.NAME`, as all names begin that belong to `target`.
fn stem(target: &Path) -> Result<Vec<u8>, OutputError> {
    let name = target.file_name().ok_or_else(|| {
        let source = std::io::Error::other("the path does not end with a name");
        OutputError::Io { path: target.to_path_buf(), action: "write it", source }
    })?;
    let bytes = name.as_bytes();
    Ok([b".", &bytes[..bytes.len().min(LONGEST_STEM)]].concat())
}

fn beside(target: &Path, name: Vec<u8>) -> PathBuf {
    target.with_file_name(OsString::from_vec(name))
}

/// A name for an unfinished `target` that nobody else has.
pub fn unfinished(target: &Path) -> Result<PathBuf, OutputError> {
    // Every state is seeded anew by the system.
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    let digits = format!(".{random:0DIGITS$x}");
    Ok(beside(target, [&stem(target)?, digits.as_bytes(), UNFINISHED].concat()))
}

/// The file by which `target` is claimed.
pub fn lock(target: &Path) -> Result<PathBuf, OutputError> {
    Ok(beside(target, [&stem(target)?, LOCK].concat()))
}

/// Whether `name` is one of [`unfinished`] for `target`, or for the dual variables beside it.
pub fn belongs_to(name: &OsStr, target: &Path) -> bool {
    let Ok(stem) = stem(target) else { return false };
    let Some(middle) = name.as_bytes().strip_prefix(&stem[..]).and_then(|rest| rest.strip_suffix(UNFINISHED)) else {
        return false;
    };
    let Some((further, digits)) = middle.split_at_checked(middle.len().wrapping_sub(DIGITS + 1)) else { return false };
    let is_hexadecimal = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    digits[0] == b'.' && digits[1..].iter().all(is_hexadecimal) && are_duals(further)
}

/// Nothing, `.duals`, or `.3.duals`.
fn are_duals(further: &[u8]) -> bool {
    let Some(number) = further.strip_suffix(b".duals") else { return further.is_empty() };
    number.is_empty() || number[0] == b'.' && number[1..].iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_names_are_told_from_all_others() {
        let target = Path::new("folder/a.towm");
        let name = unfinished(target).unwrap();
        assert_eq!(name.parent(), Some(Path::new("folder")));
        assert!(belongs_to(name.file_name().unwrap(), target));
        assert_ne!(name, unfinished(target).unwrap());
        for ours in [".a.towm.duals.0123456789abcdef.towline-new", ".a.towm.12.duals.0123456789abcdef.towline-new"] {
            assert!(belongs_to(OsStr::new(ours), target), "{ours}");
        }
        for other in [
            "a.towm.0123456789abcdef.towline-new",
            ".a.towm.0123456789abcdeg.towline-new",
            ".a.towm.new.0123456789abcdef.towline-new",
            ".a.towm.towline-new",
            ".a.towm.towline-lock",
            ".a.towmx0123456789abcdef.towline-new",
            ".b.towm.0123456789abcdef.towline-new",
            "",
        ] {
            assert!(!belongs_to(OsStr::new(other), target), "{other}");
        }
    }
}
