//! Where rows came from, as the manifest keeps it.
use super::PackOptions;
use crate::block::Precision;
use crate::input::Input;
use crate::store::manifest::{Scale, Source};

/// An input as it is now, read and prepared with `options`.
pub fn source_of(input: &Input, options: &PackOptions, generation: u64) -> Source {
    let modified = match input {
        Input::File(path) => std::fs::metadata(path).and_then(|m| m.modified()).ok(),
        Input::Stdin | Input::Follow(_) => None,
    };
    let since = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let modified = since.map_or(0, |since| since.as_nanos() as u64);
    Source {
        name: input.name(),
        bytes: input.size_bytes().unwrap_or(0),
        modified,
        reading: options.read.choices(),
        preparation: options.preparation(),
        generation,
    }
}

impl PackOptions {
    /// The options by which rows become other values or features, as on a command line.
    fn preparation(&self) -> String {
        let options = [
            ("scale", self.scale != Scale::Auto, format!("{:?}", self.scale).to_lowercase()),
            ("min-count", self.min_count > 1, self.min_count.to_string()),
            ("precision", self.precision != Precision::default(), format!("{:?}", self.precision).to_lowercase()),
        ];
        let given = options.iter().filter(|(_, is_given, _)| *is_given);
        let words: Vec<String> = given.map(|(name, _, value)| format!("--{name} {value}")).collect();
        words.into_iter().chain(self.fourier.map(|map| map.describe())).collect::<Vec<_>>().join(" ")
    }
}
