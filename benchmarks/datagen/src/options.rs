//! `--name value` pairs.
use std::collections::BTreeMap;
use std::str::FromStr;

pub struct Options {
    given: BTreeMap<String, String>,
}

impl Options {
    pub fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut given = BTreeMap::new();
        for pair in arguments.chunks(2) {
            let [name, value] = pair else { return Err(format!("no value after {}", pair[0])) };
            let name = name.strip_prefix("--").ok_or_else(|| format!("'{name}' is not an option"))?;
            given.insert(name.to_string(), value.clone());
        }
        Ok(Options { given })
    }

    /// Takes the option out, or the default if it was not given.
    pub fn take<T: FromStr>(&mut self, name: &str, default: T) -> Result<T, String> {
        match self.given.remove(name) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| format!("'{text}' is no value for --{name}")),
        }
    }

    /// Takes the option out and says whether it is the second of two words; the first is the default.
    pub fn choice(&mut self, name: &str, [first, second]: [&str; 2]) -> Result<bool, String> {
        match self.given.remove(name).as_deref() {
            Some(word) if word == second => Ok(true),
            None => Ok(false),
            Some(word) if word == first => Ok(false),
            Some(word) => Err(format!("--{name} is {first} or {second}, not '{word}'")),
        }
    }

    /// Nothing may be left over.
    pub fn finish(&self) -> Result<(), String> {
        match self.given.keys().next() {
            None => Ok(()),
            Some(name) => Err(format!("there is no option --{name} here")),
        }
    }
}
