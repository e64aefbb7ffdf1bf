//! Options about truncated losses, the index and the solver.
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use towline::Fit;
use towline::indexed::IndexedOptions;
use towline::trainer::Solver;
use towline::truncation::Beginning;

use crate::method;

/// Arguments about truncated losses, the index and the solver.
#[derive(clap::Args)]
pub struct RecipeArguments {
    /// Cut losses off at 1 + S, so that outliers count for no more than that [1 for methods that need it]
    #[arg(help_heading = "Objective", long, value_name = "S", allow_negative_numbers = true)]
    truncate: Option<f64>,
    /// Rows of the convex model that a truncated loss begins with
    #[arg(help_heading = "Solver", long, value_name = "N", default_value_t = Beginning::default().rows, value_parser = clap::value_parser!(u64).range(1..))]
    init_rows: u64,
    /// Rows that a query of the index is to find
    #[arg(help_heading = "Solver", long, value_name = "N", default_value_t = IndexedOptions::default().wanted, value_parser = clap::value_parser!(u64).range(1..))]
    query_rows: u64,
    /// Begin with losses that are cut off at 1 + S0 where --truncate is lower, and go on from there, or off
    /// [default: 1; off for methods as published]
    #[arg(help_heading = "Solver", long, value_name = "S0", value_parser = first_truncate)]
    first_truncate: Option<FirstTruncate>,
    /// The block after a query of the index: all active rows while they are in memory (active), or what was found and as
    /// many others in turn as were looked at (turns) [default: active; turns for methods as published]
    #[arg(help_heading = "Solver", long, value_name = "active|turns", value_parser = PossibleValuesParser::new(["active", "turns"]))]
    query_blocks: Option<String>,
    /// Rows with a margin of more than 1 + T are not looked at again until the rest is solved [default: 0; 1 for methods as
    /// published]
    #[arg(help_heading = "Solver", long, value_name = "T")]
    query_margin: Option<f64>,
    /// The part of the memory for rows that pages of the index keep at least [default: 0.125]
    #[arg(help_heading = "Solver", long, value_name = "SHARE")]
    page_share: Option<f64>,
    /// The solver of the subproblem in memory
    #[arg(help_heading = "Solver", long, default_value = "auto", value_parser = method::solver())]
    solver: Solver,
    /// Feature screening out of core, for the penalties l1 and elastic-net: late passes leave out features that stay 0
    #[arg(help_heading = "Solver", long, value_enum, default_value_t = WorkingSet::Auto)]
    working_set: WorkingSet,
}

/// Where a lower ceiling begins; `None` is as low as it ends.
#[derive(Clone, Copy)]
struct FirstTruncate(Option<f64>);

fn first_truncate(text: &str) -> Result<FirstTruncate, String> {
    match (text, text.parse::<f64>()) {
        ("off", _) => Ok(FirstTruncate(None)),
        (_, Ok(number)) if number >= 0.0 && number.is_finite() => Ok(FirstTruncate(Some(number))),
        _ => Err("name a number from 0 on, or off".into()),
    }
}

/// Whether all rows with few of their features are solved in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WorkingSet {
    /// As long as they fit and that pays
    Auto,
    /// Never: all passes are over whole rows, as in papers
    Off,
}

impl RecipeArguments {
    /// The same fit with what was typed of these.
    pub fn set(&self, mut fit: Fit, is_typed: &dyn Fn(&str) -> bool) -> Fit {
        if let Some(s) = self.truncate {
            fit = fit.truncate(s);
        }
        if is_typed("init_rows") {
            fit = fit.init_rows(self.init_rows);
        }
        if is_typed("query_rows") {
            fit = fit.query_rows(self.query_rows);
        }
        if let Some(FirstTruncate(first)) = self.first_truncate {
            fit = fit.first_truncate(first);
        }
        if let Some(blocks) = &self.query_blocks {
            fit = fit.query_blocks(blocks == "turns");
        }
        if let Some(beyond) = self.query_margin {
            fit = fit.query_margin(beyond);
        }
        if let Some(share) = self.page_share {
            fit = fit.page_share(share);
        }
        if is_typed("solver") {
            fit = fit.solver(self.solver);
        }
        if is_typed("working_set") {
            fit = fit.working_set(self.working_set == WorkingSet::Auto);
        }
        fit
    }
}
