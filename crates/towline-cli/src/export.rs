//! `towline export`: a model in other words.
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::ValueEnum;
use towline::loss::AnyLoss;
use towline::model::{Model, Weights};
use towline::objective::Targets;
use towline::penalty::AnyPenalty;

/// Arguments of `towline export`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The model
    model: PathBuf,
    /// What to write
    #[arg(long, value_enum)]
    to: Target,
    /// The file to write [default: standard output]
    #[arg(long, short)]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Target {
    /// A model file of LIBLINEAR, which counts features from 1
    Liblinear,
    /// JSON with everything that is known of the model
    Json,
    /// A line per feature: name, tab, weight
    Text,
}

/// Writes the model.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let model = Model::load(&arguments.model)?;
    let mut out: BufWriter<Box<dyn Write>> = BufWriter::new(match &arguments.output {
        Some(path) => Box::new(File::create(path).with_context(|| format!("cannot create {}", path.display()))?),
        None => Box::new(std::io::stdout().lock()),
    });
    match arguments.to {
        Target::Liblinear => liblinear(&model, &mut out)?,
        Target::Json => json(&model, &mut out)?,
        Target::Text => text(&model, &mut out)?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn text(model: &Model, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "(intercept)\t{}", model.header.intercept)?;
    match &model.weights {
        Weights::Numbered(weights) => {
            weights.iter().try_for_each(|(number, weight)| writeln!(out, "{number}\t{weight}"))?
        }
        Weights::Named(weights) => weights.iter().try_for_each(|(name, weight)| writeln!(out, "{name}\t{weight}"))?,
    }
    Ok(())
}

fn json(model: &Model, out: &mut impl Write) -> anyhow::Result<()> {
    let mut value = serde_json::to_value(&model.header)?;
    value["weights"] = match &model.weights {
        Weights::Numbered(weights) => serde_json::to_value(weights)?,
        Weights::Named(weights) => serde_json::to_value(weights)?,
    };
    writeln!(out, "{value}")?;
    Ok(())
}

/// LIBLINEAR lists a weight for every feature up to the last; the first label is the one with positive scores.
fn liblinear(model: &Model, out: &mut impl Write) -> anyhow::Result<()> {
    let header = &model.header;
    let (is_l1, is_l2) = match header.objective.penalty {
        AnyPenalty::L1(_) => (true, false),
        AnyPenalty::L2(_) => (false, true),
        _ => (false, false),
    };
    let Weights::Numbered(weights) = &model.weights else {
        bail!("LIBLINEAR knows feature numbers only, and this model has names; use --to text or --to json");
    };
    if weights.first().is_some_and(|&(number, _)| number == 0) {
        bail!("LIBLINEAR counts features from 1, and this model has a feature 0; use --to text or --to json");
    }
    if header.unit_rows {
        bail!("LIBLINEAR does not scale rows, and this model expects rows of unit length; use --to text or --to json");
    }
    let solver = match header.objective.loss {
        AnyLoss::SquaredHinge(_) if is_l1 => "L1R_L2LOSS_SVC",
        AnyLoss::Logistic(_) if is_l1 => "L1R_LR",
        other if !is_l2 => bail!(
            "LIBLINEAR has no {} loss with {}; use --to text or --to json",
            other.name(),
            header.objective.penalty.describe()
        ),
        AnyLoss::Hinge(_) => "L2R_L1LOSS_SVC_DUAL",
        AnyLoss::SquaredHinge(_) => "L2R_L2LOSS_SVC_DUAL",
        AnyLoss::Logistic(_) => "L2R_LR_DUAL",
        AnyLoss::EpsilonInsensitive(_) => "L2R_L1LOSS_SVR_DUAL",
        AnyLoss::SquaredEpsilonInsensitive(_) => "L2R_L2LOSS_SVR_DUAL",
        other => bail!("LIBLINEAR has no {} loss; use --to text or --to json", other.name()),
    };
    writeln!(out, "solver_type {solver}")?;
    writeln!(out, "nr_class 2")?;
    if let Targets::Binary { names, .. } = &header.objective.targets {
        if names.iter().any(|name| name.parse::<i32>().is_err()) {
            bail!("LIBLINEAR knows whole numbers as labels only, and this model has {} and {}", names[0], names[1]);
        }
        writeln!(out, "label {} {}", names[1], names[0])?;
    }
    let last = weights.last().map_or(0, |&(number, _)| number);
    if last > 1 << 31 {
        bail!("LIBLINEAR cannot number features beyond 2^31, and this model has feature {last}");
    }
    writeln!(out, "nr_feature {last}")?;
    // The intercept is the weight of a last feature of value 1.
    let bias = if header.intercept == 0.0 { -1 } else { 1 };
    writeln!(out, "bias {bias}")?;
    writeln!(out, "w")?;
    let mut next = weights.iter().peekable();
    for number in 1..=last {
        let weight = next.next_if(|&&(n, _)| n == number).map_or(0.0, |&(_, weight)| weight);
        writeln!(out, "{weight} ")?;
    }
    if bias == 1 {
        writeln!(out, "{} ", header.intercept)?;
    }
    Ok(())
}
