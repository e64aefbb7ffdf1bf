//! Steps of a trace that was written while a run went on, for models that do not carry their own.
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::engine::StepRecord;

/// Lines that are read of a trace.
const MOST_LINES: usize = 1 << 20;
/// A longer line is none of ours.
const LONGEST_LINE: usize = 1 << 16;

/// A trace cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The operating system said no.
    #[error("{}: cannot read it: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A line is not one of a trace.
    #[error("{}:{line}: this is no line of a trace ({problem}); name a file with the steps of a run", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
}

#[derive(Deserialize)]
struct Line {
    seconds: f64,
    passes: u64,
    bytes_read: u64,
    objective: Option<f64>,
    dual_objective: Option<f64>,
    relative_gap: Option<f64>,
    gap_estimate: Option<f64>,
    #[serde(default)]
    test: Option<std::collections::BTreeMap<String, f64>>,
}

/// The steps of a trace.
pub fn read_trace(path: &Path) -> Result<Vec<StepRecord>, TraceError> {
    use std::io::{BufRead, Read};
    let io = |source| TraceError::Io { path: path.to_path_buf(), source };
    let mut file = std::io::BufReader::new(std::fs::File::open(path).map_err(io)?);
    let (mut steps, mut text) = (Vec::new(), Vec::new());
    for line in 1..=MOST_LINES {
        let failed = |problem: String| TraceError::Line { path: path.to_path_buf(), line, problem };
        text.clear();
        let count = (&mut file).take(LONGEST_LINE as u64).read_until(b'\n', &mut text).map_err(io)?;
        if count == 0 {
            break;
        }
        if count == LONGEST_LINE {
            return Err(failed("it is too long".into()));
        }
        let found: Line = serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
        let test = found.test.and_then(|test| test.into_values().next());
        steps.push(StepRecord {
            seconds: found.seconds,
            passes: found.passes,
            bytes_read: found.bytes_read,
            objective: found.objective,
            dual_objective: found.dual_objective,
            gap: found.gap_estimate.or(found.relative_gap),
            test,
        });
        if steps.len() > 2 * StepRecord::MOST {
            StepRecord::thin(&mut steps, StepRecord::MOST);
        }
    }
    StepRecord::thin(&mut steps, StepRecord::MOST);
    Ok(steps)
}
