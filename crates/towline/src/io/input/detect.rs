//! Which format an input has, and the source that reads it.
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

#[cfg(feature = "arrow")]
use super::arrow::ArrowSource;
use super::bytes::{Input, Stream};
use super::csv::Csv;
use super::fourier::mapped;
use super::json::JsonLines;
use super::libsvm::{Libsvm, LibsvmOptions};
use super::table::{Known, TableOptions};
use super::text::{TextFormat, TextLimits, TextSource};
use super::unchanged::{Checked, Unchanged};
use super::vw::Vw;
use super::{InputError, Progress, RowSource, number};
use crate::budget::Budget;
use crate::fourier::FourierMap;
use crate::schema::Schema;

/// A format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `label index:value …` lines.
    Libsvm,
    /// Records of cells between commas, tabs, semicolons or bars.
    Csv,
    /// An object of JSON a line.
    Json,
    /// Vowpal Wabbit's text.
    Vw,
    /// Parquet files.
    Parquet,
    /// Arrow IPC files (also known as Feather) and streams.
    Arrow,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 6] =
        [Format::Libsvm, Format::Csv, Format::Json, Format::Vw, Format::Parquet, Format::Arrow];

    fn name(self) -> &'static str {
        match self {
            Format::Libsvm => "libsvm",
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Vw => "vw",
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
        }
    }

    /// Recognises the first bytes of an input. Tables of text are not recognised: too much looks like one.
    fn of_content(head: &[u8]) -> Option<Format> {
        match head {
            [b'P', b'A', b'R', b'1', ..] => Some(Format::Parquet),
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(Format::Arrow),
            // the first message of a stream begins with a continuation mark
            [0xff, 0xff, 0xff, 0xff, ..] => Some(Format::Arrow),
            _ => looks_like_libsvm(head).then_some(Format::Libsvm),
        }
    }

    /// Recognises the ending of a name.
    fn of_name(name: &str) -> Option<Format> {
        match plain_extension(name)?.as_str() {
            "csv" | "tsv" | "tab" => Some(Format::Csv),
            "jsonl" | "ndjson" => Some(Format::Json),
            "vw" => Some(Format::Vw),
            "parquet" | "pq" => Some(Format::Parquet),
            "arrow" | "arrows" | "feather" | "ipc" => Some(Format::Arrow),
            "svm" | "libsvm" | "svmlight" | "txt" => Some(Format::Libsvm),
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "tsv" => Ok(Format::Csv),
            "svmlight" => Ok(Format::Libsvm),
            "jsonl" | "ndjson" => Ok(Format::Json),
            "feather" | "ipc" => Ok(Format::Arrow),
            _ => Format::ALL
                .into_iter()
                .find(|format| format.name() == text)
                .ok_or_else(|| format!("'{text}' is not a format; use libsvm, csv, json, vw, parquet or arrow")),
        }
    }
}

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format; recognised by content and name if not given.
    pub format: Option<Format>,
    /// Settings of libsvm text.
    pub libsvm: LibsvmOptions,
    /// Settings of tables: CSV, JSON lines, Parquet and Arrow.
    pub table: TableOptions,
    /// Threads that parse.
    pub threads: usize,
    /// What rows are mapped to while they are read.
    pub fourier: Option<FourierMap>,
}

impl ReadOptions {
    /// The same for a file whose columns are those of `schema`, if it is known; what was said of columns was said of
    /// other files then. Further columns become features if `extend` says so, and are left out otherwise: rows are
    /// scored then, and whatever the model knows counts, however rare.
    pub fn by_schema(&self, schema: Option<&Schema>, extend: bool) -> ReadOptions {
        let mut options = self.clone();
        if let Some(schema) = schema {
            let table = &mut options.table;
            let schema = if extend { schema.clone() } else { schema.for_scoring() };
            table.known = Some(Known { schema: Arc::new(schema), columns: table.columns, extend });
            table.kinds.clear();
            table.ignore.clear();
        }
        options
    }
}

/// How much of an input is looked at to recognise it.
const PEEK_BYTES: usize = 16 << 10;

/// Opens all `inputs` as one source of rows.
pub fn open(
    inputs: &[Input],
    options: &ReadOptions,
    budget: &Budget,
    progress: &Progress,
) -> Result<Box<dyn RowSource>, InputError> {
    let files = inputs.iter().filter_map(Unchanged::new).collect();
    let raw = Box::new(Checked { source: open_raw(inputs, options, budget, progress)?, files });
    let file = inputs.first().map_or_else(String::new, Input::name);
    mapped(options.fourier, raw, budget).map_err(|source| InputError::Budget { file, source })
}

/// Looks whether an input can be read and what it is, without reading more of it than its beginning. What can be read
/// only once is left alone.
pub fn check(input: &Input, options: &ReadOptions) -> Result<(), InputError> {
    let Input::File(path) = input else { return Ok(()) };
    let fail = |source| InputError::Io { file: input.name(), action: "open it", source };
    if !std::fs::metadata(path).map_err(fail)?.is_file() {
        return Ok(());
    }
    match options.format {
        Some(_) => std::fs::File::open(path).map(|_| ()).map_err(fail),
        None => recognise(std::slice::from_ref(input), &Budget::unlimited(), &Progress::default()).map(|_| ()),
    }
}

fn open_raw(
    inputs: &[Input],
    options: &ReadOptions,
    budget: &Budget,
    progress: &Progress,
) -> Result<Box<dyn RowSource>, InputError> {
    if inputs.iter().filter(|input| **input == Input::Stdin).count() > 1 {
        return Err(InputError::file(&Input::Stdin.name(), "it is named twice", "name '-' once"));
    }
    let (format, streams) = match options.format {
        Some(format) => (format, inputs.iter().cloned().map(Stream::from).collect()),
        None => recognise(inputs, budget, progress)?,
    };
    let file = inputs.first().map_or_else(String::new, Input::name);
    let refused = |source| InputError::Budget { file: file.clone(), source };
    let text: Arc<dyn TextFormat> = match format {
        Format::Libsvm => Arc::new(Libsvm::new(options.libsvm)),
        Format::Csv => Arc::new(Csv::new(options.table.clone())),
        Format::Json => Arc::new(JsonLines::new(options.table.clone())),
        Format::Vw => Arc::new(Vw::new(options.table.precision, options.table.unlabelled)),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => return Err(left_out(&file, "Parquet", "parquet")),
        #[cfg(not(feature = "arrow"))]
        Format::Arrow => return Err(left_out(&file, "Arrow", "arrow")),
        #[cfg(feature = "arrow")]
        _ => {
            let source = ArrowSource::new(format, streams, &options.table, budget, progress).map_err(refused)?;
            return Ok(Box::new(source));
        }
    };
    let limits = TextLimits::for_budget(budget, options.threads);
    let source = TextSource::from_streams(text, streams, limits, budget, progress).map_err(refused)?;
    Ok(Box::new(source))
}

/// An error about a format that this build was made without.
#[cfg(not(feature = "parquet"))]
fn left_out(file: &str, format: &str, feature: &str) -> InputError {
    let remedy = format!("build it with its feature '{feature}', or convert the file to CSV");
    InputError::file(file, format!("this build of the library reads no {format}"), remedy)
}

/// The one format of all inputs.
fn recognise(inputs: &[Input], budget: &Budget, progress: &Progress) -> Result<(Format, Vec<Stream>), InputError> {
    let mut first: Option<(Format, String)> = None;
    let mut streams = Vec::with_capacity(inputs.len());
    for input in inputs {
        let (stream, head) = Stream::peek(input, PEEK_BYTES, budget, progress)?;
        streams.push(stream);
        let name = input.name();
        let Some(format) = format_of(&name, &head)? else { continue };
        match &first {
            None => first = Some((format, name)),
            Some((other, _)) if *other == format => {}
            Some((other, other_name)) => {
                return Err(InputError::file(
                    &name,
                    format!("this looks like {format}, but {other_name} looks like {other}"),
                    "give files of one format, or say which it is with `format`",
                ));
            }
        }
    }
    // Files without any row are at home in every format.
    Ok((first.map_or(Format::Libsvm, |(format, _)| format), streams))
}

/// The format of an input that begins with `head`; none if it is empty and its name says nothing.
fn format_of(name: &str, head: &[u8]) -> Result<Option<Format>, InputError> {
    if head.starts_with(b"FEA1") {
        return Err(InputError::file(
            name,
            "this is a Feather file of version 1",
            "write it as version 2, or as Parquet",
        ));
    }
    let is_json = || first_line(head).is_some_and(|line| line.starts_with(b"{\"")).then_some(Format::Json);
    let found = Format::of_content(head).or_else(|| Format::of_name(name)).or_else(is_json);
    if found.is_none() && first_line(head).is_some() {
        return Err(InputError::file(
            name,
            "neither its contents nor its name say what format it has",
            "use `format(libsvm)`, csv, json, vw, parquet or arrow",
        ));
    }
    Ok(found)
}

/// The ending of a file's name in small letters, without one that stands for compression.
pub(super) fn plain_extension(name: &str) -> Option<String> {
    let name = name.rsplit(['/', '\\']).next()?.to_ascii_lowercase();
    let packed = [".gz", ".bz2", ".zst", ".zstd"];
    let name = packed.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    name.rsplit_once('.').map(|(_, extension)| extension.to_string())
}

/// The first line that is neither blank nor a comment.
fn first_line(head: &[u8]) -> Option<&[u8]> {
    head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty() && line[0] != b'#')
}

/// Whether the first row is a number alone, or numbers with commas before `index:value` or `qid:`.
fn looks_like_libsvm(head: &[u8]) -> bool {
    let Some(line) = first_line(head) else { return false };
    let mut tokens = line.split(u8::is_ascii_whitespace).filter(|token| !token.is_empty());
    let label = tokens.next().unwrap_or_default();
    let several = label.contains(&b',');
    let is_label = label.split(|&byte| byte == b',').all(|target| number::whole_float(target).is_some());
    let entry = |token: &[u8]| {
        token.starts_with(b"qid:")
            || token.starts_with(b"#")
            || number::unsigned(token, 0).is_some_and(|(_, end)| token.get(end) == Some(&b':'))
    };
    // Numbers with commas and nothing else are a table.
    is_label && tokens.next().map_or(!several, entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A format that a build was made without is refused by name, with what to do.
    #[cfg(not(feature = "parquet"))]
    #[test]
    fn formats_that_were_left_out_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        std::fs::write(&path, b"PAR1").unwrap();
        let (budget, progress) = (Budget::unlimited(), Progress::default());
        let refused = open(&[Input::File(path)], &ReadOptions::default(), &budget, &progress).err().unwrap();
        let message = refused.to_string();
        assert!(message.contains("no Parquet") && message.contains("feature 'parquet'"), "{message}");
    }

    #[test]
    fn contents_go_before_names() {
        let cases: [(&str, &[u8], Option<Format>); 23] = [
            ("a.csv", b"PAR1....", Some(Format::Parquet)),
            ("a", b"ARROW1\0\0", Some(Format::Arrow)),
            ("standard input", &[0xff, 0xff, 0xff, 0xff, 16, 0, 0, 0], Some(Format::Arrow)),
            ("a.csv", b"+1 3:1 5:0.5\n", Some(Format::Libsvm)),
            ("a", b"# made by hand\n\n-1 qid:3 1:1\n", Some(Format::Libsvm)),
            ("a", b"1\n0\n", Some(Format::Libsvm)),
            ("a", b"1.5,-2e3 7:1\n", Some(Format::Libsvm)),
            ("a", b"1 # nothing\n", Some(Format::Libsvm)),
            ("a.csv", b"a,b\n1,2\n", Some(Format::Csv)),
            ("A.TSV.GZ", b"a\tb\n", Some(Format::Csv)),
            ("a.csv.zst", b"1,2\n", Some(Format::Csv)),
            ("dir.csv/a.svm", b"", Some(Format::Libsvm)),
            ("a.txt", b"one two\n", Some(Format::Libsvm)),
            ("a.feather", b"", Some(Format::Arrow)),
            ("a", b"{\"y\": 1}\n", Some(Format::Json)),
            ("a.ndjson.gz", b"\n", Some(Format::Json)),
            ("a.jsonl", b"[1]\n", Some(Format::Json)),
            ("a.vw", b"1 |f a b:2\n", Some(Format::Vw)),
            ("a.parquet", b"1,2", Some(Format::Parquet)),
            ("a.pq", b"", Some(Format::Parquet)),
            ("a", b"", None),
            ("a", b"\n# nothing\n", None),
            ("a.data", b"  ", None),
        ];
        for (name, head, format) in cases {
            assert_eq!(format_of(name, head).unwrap(), format, "{name} {head:?}");
        }
    }

    #[test]
    fn what_cannot_be_recognised() {
        let message = |name, head: &[u8]| format_of(name, head).unwrap_err().to_string();
        assert_eq!(
            message("a.data", b"1,2\n"),
            "a.data: neither its contents nor its name say what format it has; use `format(libsvm)`, csv, json, vw, \
             parquet or arrow"
        );
        assert_eq!(
            message("a.feather", b"FEA1"),
            "a.feather: this is a Feather file of version 1; write it as version 2, or as Parquet"
        );
    }

    #[test]
    fn names_of_formats() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert_eq!(
            "xml".parse::<Format>(),
            Err("'xml' is not a format; use libsvm, csv, json, vw, parquet or arrow".to_string())
        );
    }
}
