//! Options in which algorithms of papers differ from ours.
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use towline::Fit;
use towline::fit::PUBLISHED_VIOLATION;
use towline::trainer::{Partition, Selection};

/// Arguments about blocks, stops and proximal steps.
#[derive(clap::Args)]
pub struct AlgorithmArguments {
    /// How the rows that stay are chosen
    #[arg(help_heading = "Solver", long, default_value = "gradient", value_parser = selection())]
    selection: Selection,
    /// Which blocks are in memory together: redrawn, others in each pass, or fixed, as in papers [default: redrawn]
    #[arg(help_heading = "Solver", long, value_parser = partition())]
    partition: Option<Partition>,
    /// Rows in memory are at most one part of M, however much memory there is, or auto, as many as fit
    /// [default: auto; 12 for sbm and bmd as published, 10 for da-bcd as published]
    #[arg(help_heading = "Solver", long, value_name = "M", value_parser = blocks)]
    blocks: Option<Blocks>,
    /// Sweep over the rows in memory until violations range over less than E, before new blocks come
    #[arg(help_heading = "Solver", long, value_name = "E")]
    inner_tolerance: Option<f64>,
    /// What ends a run: gap, the certificate (--tolerance), or kkt, violations of the optimality conditions that a sweep
    /// has met (-e), as LIBLINEAR and AVSF do; the gap is then computed at the end
    /// [default: gap; kkt for avsf-as-published]
    #[arg(help_heading = "Stopping and resuming", long, value_name = "gap|kkt", value_parser = PossibleValuesParser::new(["gap", "kkt"]))]
    stop: Option<String>,
    /// The violation at which --stop kkt ends a run [default: 0.01]
    #[arg(help_heading = "Stopping and resuming", short = 'e', value_name = "E")]
    violation: Option<f64>,
    /// The step of the proximal point method, for penalties other than l2: a number, or auto, from the curvature of the
    /// data [default: auto; 1 for da-bcd-as-published]
    #[arg(help_heading = "Solver", long, value_parser = eta)]
    eta: Option<Eta>,
    /// What --eta is multiplied by after each proximal step [default: 1]
    #[arg(help_heading = "Solver", long, value_name = "FACTOR")]
    eta_growth: Option<f64>,
    /// Whether the centre of the proximal term goes beyond the weights [default: on; off for da-bcd-as-published]
    #[arg(help_heading = "Solver", long, value_name = "on|off", value_parser = switch())]
    extrapolation: Option<bool>,
    /// Passes over all blocks before the centre of the proximal term moves
    #[arg(help_heading = "Solver", long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..))]
    inner_passes: Option<u32>,
    /// Steps of --solver columns on the problem of a block, at most [default: 10]
    #[arg(help_heading = "Solver", long, value_name = "T", value_parser = clap::value_parser!(u32).range(1..))]
    block_steps: Option<u32>,
}

impl AlgorithmArguments {
    /// The same fit with what was typed of these.
    pub fn set(&self, mut fit: Fit, is_typed: &dyn Fn(&str) -> bool) -> anyhow::Result<Fit> {
        if is_typed("selection") {
            fit = fit.selection(self.selection);
        }
        if let Some(partition) = self.partition {
            fit = fit.partition(partition);
        }
        if let Some(Blocks(blocks)) = self.blocks {
            fit = fit.blocks(blocks);
        }
        if let Some(bound) = self.inner_tolerance {
            fit = fit.inner_tolerance(bound);
        }
        match (self.stop.as_deref(), self.violation) {
            (Some("kkt"), bound) => fit = fit.violation(bound.unwrap_or(PUBLISHED_VIOLATION)),
            (None, Some(bound)) => fit = fit.violation(bound),
            (Some(_), Some(_)) => anyhow::bail!("-e is for --stop kkt; use --tolerance, the relative duality gap"),
            // A tolerance takes the place of a method's own violation.
            (Some(_), None) if !is_typed("tolerance") => fit = fit.tolerance(1e-3),
            _ => {}
        }
        if let Some(Eta(eta)) = self.eta {
            fit = fit.eta(eta);
        }
        if let Some(factor) = self.eta_growth {
            fit = fit.eta_growth(factor);
        }
        if let Some(extrapolates) = self.extrapolation {
            fit = fit.extrapolation(extrapolates);
        }
        if let Some(passes) = self.inner_passes {
            fit = fit.inner_passes(passes);
        }
        if let Some(steps) = self.block_steps {
            fit = fit.block_steps(steps);
        }
        Ok(fit)
    }
}

fn selection() -> impl TypedValueParser<Value = Selection> {
    let value = |selection: &Selection| PossibleValue::new(selection.name()).help(selection.describe());
    let find = |name: String| Selection::ALL.into_iter().find(|known| known.name() == name).ok_or("no such selection");
    PossibleValuesParser::new(Selection::ALL.iter().map(value)).try_map(find)
}

fn partition() -> impl TypedValueParser<Value = Partition> {
    let find = |name: String| Partition::ALL.into_iter().find(|known| known.name() == name).ok_or("no such partition");
    PossibleValuesParser::new(Partition::ALL.map(Partition::name)).try_map(find)
}

fn switch() -> impl TypedValueParser<Value = bool> {
    PossibleValuesParser::new(["on", "off"]).map(|word| word == "on")
}

/// Parts; `None` is as many as memory asks for.
#[derive(Clone, Copy)]
struct Blocks(Option<u32>);

fn blocks(text: &str) -> Result<Blocks, String> {
    match (text, text.parse()) {
        ("auto", _) => Ok(Blocks(None)),
        (_, Ok(number @ 1..)) => Ok(Blocks(Some(number))),
        _ => Err("name a number from 1 on, or auto".into()),
    }
}

/// η; `None` follows from the data.
#[derive(Clone, Copy)]
struct Eta(Option<f64>);

fn eta(text: &str) -> Result<Eta, String> {
    match (text, text.parse::<f64>()) {
        ("auto", _) => Ok(Eta(None)),
        (_, Ok(number)) if number > 0.0 && number.is_finite() => Ok(Eta(Some(number))),
        _ => Err("name a number above 0, or auto".into()),
    }
}
