//! Large, real data in libsvm format, from sources that anyone can download.
//!
//! ```text
//! datagen linux  TREE   OUT [--ngram 4] [--bits 24] [--label drivers|subsystem] [--limit FILES] [--chunk BYTES]
//! datagen debian DUMP   OUT [--label section|size]
//! datagen splice FASTA  OUT [--k 8]
//! datagen mnist  IMAGES OUT --labels LABELS [--copies 40] [--seed 1] [--strength 1]
//! ```
//! A fifth of the rows, chosen by a hash of their names, goes to OUT.test, the rest to OUT.train. The same input gives
//! the same output.
mod debian;
mod linux;
mod mnist;
mod options;
mod output;
mod splice;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use options::Options;
use output::Output;

/// Anything that went wrong, in words.
type Outcome = Result<(), Box<dyn Error>>;

const USAGE: &str = "usage: datagen linux|debian|splice|mnist INPUT OUT [options]; the top of src/main.rs lists them";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("datagen: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Outcome {
    let [source, input, out, rest @ ..] = arguments else { return Err(USAGE.into()) };
    let generate: fn(&Path, &mut Output, &mut Options) -> Outcome = match source.as_str() {
        "linux" => linux::generate,
        "debian" => debian::generate,
        "splice" => splice::generate,
        "mnist" => mnist::generate,
        _ => return Err(USAGE.into()),
    };
    let mut options = Options::parse(rest)?;
    let mut output = Output::create(out)?;
    generate(Path::new(input), &mut output, &mut options)?;
    let (rows, values) = output.finish()?;
    eprintln!("{rows} rows, {values} values");
    Ok(())
}

/// Reads a whole file; the message names it.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}
