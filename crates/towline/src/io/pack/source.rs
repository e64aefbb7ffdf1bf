//! Where rows came from, as the manifest keeps it.
use crate::input::{Input, ReadOptions};
use crate::store::manifest::Source;

/// An input as it is now, read with `options`.
pub fn source_of(input: &Input, options: &ReadOptions, generation: u64) -> Source {
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
        reading: options.choices(),
        generation,
    }
}
