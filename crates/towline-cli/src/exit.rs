//! Exit codes that scripts can rely on, and the one place where errors are printed.
//!
//! | code | meaning |
//! | --- | --- |
//! | 0 | done |
//! | 1 | failure: a file cannot be read or written, a store is damaged |
//! | 2 | usage (printed by the argument parser) |
//! | 3 | the memory budget is too small; the message says the least that would do |
//! | 4 | bad data; the message names file and line |
//! | 5 | training ended before the tolerance was reached; the model is written, its gap inside |
//! | 6 | done, but the disk does not confirm it: the message says what is there; do not repeat the command |
//! | 130 | interrupted |
use std::io;
use std::process::ExitCode;

use towline::FitError;
use towline::budget::BudgetError;
use towline::input::InputError;
use towline::model::ModelError;
use towline::objective::TargetError;
use towline::output::OutputError;
use towline::pack::PackError;
use towline::store::StoreError;
use towline::stream::{Outgrown, StreamError};
use towline::trainer::{Status, TrainError};

use crate::{flags, show, size};

const FAILURE: u8 = 1;
const BUDGET: u8 = 3;
const BAD_DATA: u8 = 4;
/// Training ended before the tolerance was reached.
const NOT_CONVERGED: u8 = 5;
/// What was asked for is done, and may not outlive a loss of power.
const NOT_DURABLE: u8 = 6;
const INTERRUPTED: u8 = 130;

/// The code for how training ended.
pub fn of_training(status: Status) -> ExitCode {
    match status {
        Status::Converged | Status::Streamed => ExitCode::SUCCESS,
        Status::Interrupted => ExitCode::from(INTERRUPTED),
        _ => ExitCode::from(NOT_CONVERGED),
    }
}

/// Prints the error, if any, and chooses the exit code.
pub fn report(result: anyhow::Result<ExitCode>) -> ExitCode {
    let error = match result {
        Ok(code) => return code,
        Err(error) => cause(error),
    };
    // Whoever reads our output may stop reading; that is no error of ours.
    if error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe))
    {
        return ExitCode::SUCCESS;
    }
    let (code, message) = match (error.downcast_ref(), budget_error(&error)) {
        (Some(StreamError::Outgrown(outgrown)), _) => (BUDGET, outgrown_message(outgrown)),
        (_, Some(refused)) => (BUDGET, budget_message(refused)),
        _ => (code_of(&error), flags::typed(&words(&error))),
    };
    show::say(&format!("towline: {message}\n"));
    ExitCode::from(code)
}

/// The error of a part of the library, where a fit has passed it on.
pub fn cause(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<FitError>() {
        Ok(FitError::Targets(error)) => error.into(),
        Ok(FitError::Train(error)) => error.into(),
        Ok(FitError::Store(error)) => error.into(),
        Ok(FitError::Model(error)) => error.into(),
        Ok(FitError::Input(error)) => error.into(),
        Ok(FitError::Pack(error)) => error.into(),
        Ok(FitError::Stream(error)) => error.into(),
        Ok(FitError::Output(error)) => error.into(),
        Ok(other) => anyhow::anyhow!("{other}"),
        Err(error) => error,
    }
}

/// Our own errors have their causes in their words already; others are told with all of their causes.
fn words(error: &anyhow::Error) -> String {
    let is_ours = error.is::<PackError>()
        || error.is::<StoreError>()
        || error.is::<InputError>()
        || error.is::<OutputError>()
        || error.is::<ModelError>();
    if is_ours || error.is::<StreamError>() { error.to_string() } else { format!("{error:#}") }
}

/// What could not be written, whichever part of the program was at it.
fn output_error(error: &anyhow::Error) -> Option<&OutputError> {
    if let Some(found) = error.downcast_ref::<OutputError>() {
        return Some(found);
    }
    if let Some(ModelError::Output(found)) = error.downcast_ref() {
        return Some(found);
    }
    if let Some(PackError::Store(StoreError::Output(found))) = error.downcast_ref() {
        return Some(found);
    }
    match error.downcast_ref() {
        Some(StoreError::Output(found)) => Some(found),
        _ => None,
    }
}

/// For outputs on the way to the one that was asked for: where the disk does not confirm them, nothing is done yet, and
/// the command may be repeated.
pub fn on_the_way(error: anyhow::Error) -> anyhow::Error {
    match output_error(&error) {
        Some(OutputError::NotDurable { path, source, .. }) => {
            anyhow::anyhow!("{}: the disk does not confirm that it is written: {source}", path.display())
        }
        _ => error,
    }
}

fn code_of(error: &anyhow::Error) -> u8 {
    if let Some(OutputError::NotDurable { .. }) = output_error(error) {
        return NOT_DURABLE;
    }
    if error.is::<TargetError>() || matches!(error.downcast_ref(), Some(InputError::Bad { .. })) {
        return BAD_DATA;
    }
    if let Some(StreamError::Input(InputError::Bad { .. }) | StreamError::Rows { .. }) = error.downcast_ref() {
        return BAD_DATA;
    }
    if let Some(TrainError::Stopped(Status::Interrupted)) = error.downcast_ref() {
        return INTERRUPTED;
    }
    match error.downcast_ref::<PackError>() {
        Some(PackError::Interrupted) => INTERRUPTED,
        Some(PackError::Input(InputError::Bad { .. }) | PackError::NoRows { .. } | PackError::Mismatch { .. }) => {
            BAD_DATA
        }
        _ => FAILURE,
    }
}

fn budget_error(error: &anyhow::Error) -> Option<&BudgetError> {
    match error.downcast_ref::<PackError>() {
        Some(PackError::Budget(refused) | PackError::Store(StoreError::Budget(refused))) => return Some(refused),
        Some(PackError::Input(InputError::Budget { source, .. })) => return Some(source),
        _ => {}
    }
    match error.downcast_ref::<StreamError>() {
        Some(StreamError::Budget(refused) | StreamError::Store(StoreError::Budget(refused))) => return Some(refused),
        Some(StreamError::Input(InputError::Budget { source, .. })) => return Some(source),
        _ => {}
    }
    if let Some(TrainError::Budget(refused) | TrainError::Store(StoreError::Budget(refused))) = error.downcast_ref() {
        return Some(refused);
    }
    if let Some(InputError::Budget { source, .. }) = error.downcast_ref() {
        return Some(source);
    }
    if let Some(ModelError::Budget(refused)) = error.downcast_ref() {
        return Some(refused);
    }
    match error.downcast_ref::<StoreError>() {
        Some(StoreError::Budget(refused)) => Some(refused),
        _ => None,
    }
}

/// The same as the error's own words, with sizes as they are typed.
fn budget_message(refused: &BudgetError) -> String {
    format!("{}; use --memory {}M or more", refusal(refused), mebibytes(refused.least_bytes))
}

/// What is too small for what.
fn refusal(refused: &BudgetError) -> String {
    format!(
        "the memory budget of {} is too small: {} needs {} and only {} is free beside {} for the program itself",
        size::show(refused.limit_bytes),
        refused.purpose,
        size::show(refused.wanted_bytes),
        size::show(refused.free_bytes),
        size::show(refused.program_bytes),
    )
}

/// Rounded up to whole MiB, with a little room for what would be asked for next.
fn mebibytes(bytes: u64) -> u64 {
    bytes.saturating_add(bytes / 8).div_ceil(1 << 20)
}

/// A stream that has begun may need more than its next step does.
fn outgrown_message(outgrown: &Outgrown) -> String {
    let Outgrown { refused, rows, features, likely_bytes, hash_bits } = outgrown;
    let (rows, features) = (show::count(*rows), show::count(*features));
    let remedy = match likely_bytes {
        Some(bytes) => format!("--memory {}M is likely to be enough for the whole input", mebibytes(*bytes)),
        None => {
            let least = mebibytes(refused.least_bytes);
            format!("--memory {least}M is enough for these, and later rows may need more")
        }
    };
    let hash =
        hash_bits.map_or(String::new(), |bits| format!("; or --hash-bits {bits}, with which weights never grow"));
    format!("{} after {rows} rows with {features} features; {remedy}{hash}", refusal(refused))
}
