//! Decoders of other crates, kept from ending the program.
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::input::InputError;

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is decoding bytes that may have been damaged. A panic then becomes an ordinary error; a program
/// that sets a panic hook can keep it quiet.
pub fn is_decoding() -> bool {
    DECODING.get()
}

/// Runs a decoder on bytes that may have been damaged.
///
/// arrow-ipc and parquet check much, but not everything: they slice buffers at offsets taken from the file, and unwrap
/// what a well-formed file always has, so that damage can make them panic (`malformed.rs` damages files until they do).
/// What was being decoded is dropped after a panic, so nothing half-made is ever looked at.
pub(super) fn decode<T, E: std::fmt::Display>(
    file: &str,
    format: &str,
    decoder: impl FnOnce() -> Result<T, E>,
) -> Result<T, InputError> {
    DECODING.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(decoder));
    DECODING.set(false);
    match outcome {
        Ok(Ok(decoded)) => Ok(decoded),
        Ok(Err(error)) => Err(damaged(file, format, &error.to_string())),
        Err(_) => Err(damaged(file, format, "its parts contradict each other")),
    }
}

/// An error about a file that cannot be decoded.
pub(super) fn damaged(file: &str, format: &str, reason: &str) -> InputError {
    let reason = reason.lines().next().unwrap_or_default().trim_end_matches('.');
    InputError::file(
        file,
        format!("this cannot be read as {format} ({reason})"),
        "check that it is complete, or write it anew",
    )
}
