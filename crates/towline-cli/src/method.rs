//! `--method` and `--solver`: names and help from the library, and which options were typed.
use clap::ArgMatches;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use towline::Method;
use towline::trainer::Solver;

use crate::flags;

/// Reads the name of a method.
pub fn method() -> impl TypedValueParser<Value = Method> {
    let value = |method: &Method| PossibleValue::new(method.name()).help(flags::typed(method.describe()));
    PossibleValuesParser::new(Method::ALL.iter().map(value)).try_map(|name| name.parse::<Method>())
}

/// Reads the name of a solver.
pub fn solver() -> impl TypedValueParser<Value = Solver> {
    let value = |solver: &Solver| PossibleValue::new(solver.name()).help(solver.describe());
    let find = |name: String| Solver::ALL.into_iter().find(|solver| solver.name() == name).ok_or("no such solver");
    PossibleValuesParser::new(Solver::ALL.iter().map(value)).try_map(find)
}

/// The options that were typed, by their names in the code.
pub fn typed(matches: &ArgMatches) -> Vec<String> {
    let typed = |id: &&clap::Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
    matches.ids().filter(typed).map(|id| id.to_string()).collect()
}
