//! What a file is, by its first bytes: only the like is replaced.

/// The first bytes of a model.
pub(crate) const MODEL_MAGIC: [u8; 8] = *b"TOWMODEL";
/// The first bytes of a file of dual variables.
pub(crate) const DUALS_MAGIC: [u8; 8] = *b"TOWDUALS";

/// The first line of a report.
pub(crate) const REPORT_HEAD: &str = "<!DOCTYPE html><!-- a report of towline -->\n";

/// The first bytes of a model of ONNX that is ours: the version of the format (8), and who made it.
const ONNX_HEAD: &[u8] = b"\x08\x08\x12\x07towline";

/// What is written.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A model.
    Model,
    /// The dual variables of a training run.
    Duals,
    /// A label, scores or probabilities per line; the labels may be any of these names.
    Predictions(Vec<String>),
    /// A model as JSON.
    Json,
    /// A model of LIBLINEAR.
    Liblinear,
    /// A line of text per weight.
    Weights,
    /// A line of text per name that another program has a number for.
    Names,
    /// A model of ONNX.
    Onnx,
    /// A table whose first line is this one.
    Columns(String),
    /// A table of Parquet or Arrow. Nothing at its beginning says whose it is, so none is replaced.
    BinaryTable,
    /// A line of JSON per step.
    Trace,
    /// A table that begins with this line.
    Table(&'static str),
    /// A manual page.
    Manual,
    /// A report as a page of HTML.
    Report,
    /// A note that a run leaves itself, which begins with these words.
    Note(&'static str),
}

impl Kind {
    /// For messages.
    pub fn describe(&self) -> &'static str {
        match self {
            Kind::Model => "a model",
            Kind::Duals => "dual variables",
            Kind::Predictions(_) => "predictions",
            Kind::Json => "an exported model in JSON",
            Kind::Liblinear => "an exported model for LIBLINEAR",
            Kind::Weights => "an exported model in text",
            Kind::Names => "a table of names",
            Kind::Onnx => "an exported model for ONNX",
            Kind::Columns(_) => "a table of predictions with the same columns",
            Kind::BinaryTable => "empty",
            Kind::Trace => "a trace",
            Kind::Table(_) => "a table of ours",
            Kind::Manual => "a manual page of ours",
            Kind::Report => "a report of ours",
            Kind::Note(_) => "a note of ours",
        }
    }

    /// How much of a file is looked at to see whether it is one.
    pub fn head_bytes(&self) -> u64 {
        match self {
            Kind::Predictions(_) | Kind::Json | Kind::Trace | Kind::Manual | Kind::Columns(_) => 64 << 10,
            _ => 64,
        }
    }

    /// Whether it may go to a pipe or a device as well.
    pub fn is_text(&self) -> bool {
        !matches!(self, Kind::Model | Kind::Duals | Kind::Note(_))
    }

    /// Whether a file that begins with `head` is one; `is_whole` if it ends there. An empty file is as good as none.
    pub fn fits(&self, head: &[u8], is_whole: bool) -> bool {
        if head.is_empty() {
            return true;
        }
        match self {
            Kind::Model => head.starts_with(&MODEL_MAGIC),
            Kind::Duals => head.starts_with(&DUALS_MAGIC),
            Kind::Predictions(names) => whole_lines(head, is_whole).all(|line| is_prediction(line, names)),
            Kind::Json => head.starts_with(b"{") && contains(head, b"\"created_by\":"),
            Kind::Liblinear => head.starts_with(b"solver_type "),
            Kind::Weights => head.starts_with(b"(intercept)\t"),
            Kind::Names => head.starts_with(b"feature\t1\t") || head.starts_with(b"label\t1\t"),
            Kind::Onnx => head.starts_with(ONNX_HEAD),
            Kind::Columns(line) => head.starts_with(line.as_bytes()),
            Kind::BinaryTable => false,
            Kind::Trace => head.starts_with(b"{") && contains(head, b"\"bytes_read\":"),
            Kind::Table(begin) | Kind::Note(begin) => head.starts_with(begin.as_bytes()),
            Kind::Manual => contains(head, b".TH towline"),
            Kind::Report => head.starts_with(REPORT_HEAD.as_bytes()),
        }
    }
}

/// The lines of `head`; the last one may have been cut.
fn whole_lines(head: &[u8], is_whole: bool) -> impl Iterator<Item = &[u8]> {
    let end = if is_whole { head.len() } else { memchr::memrchr(b'\n', head).unwrap_or(0) };
    let text = head[..end].strip_suffix(b"\n").unwrap_or(&head[..end]);
    text.split(|&byte| byte == b'\n')
}

/// A name of a class, or numbers with blanks between them and nothing else.
fn is_prediction(line: &[u8], names: &[String]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    names.iter().any(|name| name == line)
        || (!line.is_empty() && line.split(' ').all(|word| word.parse::<f64>().is_ok()))
}

fn contains(head: &[u8], wanted: &[u8]) -> bool {
    memchr::memmem::find(head, wanted).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_no_predictions() {
        let kind = Kind::Predictions(vec!["red wine".into()]);
        let fits = |text: &str| kind.fits(text.as_bytes(), true);
        for fitting in ["", "1\n-1\n", "0.5 -2e-3 7\n", "red wine\n3\n", "NaN\ninf\n", "1"] {
            assert!(fits(fitting), "{fitting:?}");
        }
        for other in ["1 3:1\n", "1,2\n", "\n", "label\n", "1\n\n2\n", "TOWMODEL", "white wine\n"] {
            assert!(!fits(other), "{other:?}");
        }
        assert!(kind.fits(b"1\n2\n3:", false), "a line that is cut says nothing");
        assert!(!kind.fits(b"\xff\n", true));
    }
}
