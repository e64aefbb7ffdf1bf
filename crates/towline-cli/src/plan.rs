//! `towline plan`: where every byte of a training run would go.
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use towline::columns;
use towline::loss::AnyLoss;
use towline::objective::{Classes, Multiclass, Objective, Targets};
use towline::store::{BlockStore, DiskStore};
use towline::trainer::{Plan, Solver};

use crate::memory::{self, Memory};
use crate::objective::MulticlassChoice;
use crate::penalty::PenaltyArguments;
use crate::recipe::SolverChoice;
use crate::train::reserve_classes;
use crate::{show, size};

/// Arguments of `towline plan`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The store that would be trained on
    store: PathBuf,
    /// Memory for the whole process, such as 512M, or +512M for data beside the program itself [default: half of what is free, at most 4G]
    #[arg(long, value_parser = memory::parse)]
    memory: Option<Memory>,
    #[command(flatten)]
    penalty: PenaltyArguments,
    /// Plan for this loss: with penalties that make zeros, those with kinks are solved in another way than others
    #[arg(long, default_value = "hinge")]
    loss: String,
    /// Plan for this way to solve the problem of the rows in memory
    #[arg(long, value_enum, default_value_t = SolverChoice::Auto)]
    solver: SolverChoice,
    /// Plan for an intercept that is free of the penalty
    #[arg(long)]
    intercept: bool,
    /// Plan for so many models that train together, such as one per class
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    models: u64,
    /// Plan for so many outputs in one objective, such as the classes of softmax [default: the targets of a row]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    outputs: Option<u16>,
    /// Plan for all classes of the store, told apart in this way
    #[arg(long, value_enum, conflicts_with_all = ["outputs", "models"])]
    multiclass: Option<MulticlassChoice>,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Prints the plan.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let budget = memory::budget(arguments.memory);
    let store = DiskStore::open_within(&arguments.store, &budget)?;
    // How large λ is takes no memory.
    let outputs = arguments.outputs.map_or(store.shape().layout.targets as usize, usize::from);
    let penalty = arguments.penalty.penalty(1.0, outputs, &store, &budget)?;
    // Neither do the numbers of a loss.
    let loss = AnyLoss::from_name(&arguments.loss, 0.1, 1.0)?;
    let multiclass = arguments.multiclass.map(|choice| choice.given().unwrap_or(Multiclass::OneVsRest));
    let targets = match (multiclass, outputs) {
        (Some(multiclass), _) => Targets::Classes { classes: Classes::of(&store.manifest().labels)?, multiclass },
        (None, 1) => Targets::Numbers,
        (None, many) => Targets::Several { names: vec![String::new(); many] },
    };
    let objective = Objective { penalty, intercept: arguments.intercept, ..Objective::new(loss, 1.0, targets) };
    let models = if multiclass.is_some() { objective.split().len() as u64 } else { arguments.models };
    let _classes = reserve_classes(&objective, models as usize, &budget)?;
    let plan = match arguments.solver {
        SolverChoice::Gram | SolverChoice::Newton | SolverChoice::Multipliers => {
            bail!("plans are for --solver dual and columns; solvers of second order say themselves what they need")
        }
        SolverChoice::Columns => Plan::for_solver(&store, &objective, Solver::Columns, models as usize, &budget)?.0,
        SolverChoice::Auto if columns::can_train(&objective).is_ok() => {
            Plan::for_solver(&store, &objective, Solver::Auto, models as usize, &budget)?.0
        }
        SolverChoice::Auto | SolverChoice::Dual => {
            Plan::for_models(&store, &objective, models, &budget).map_err(towline::store::StoreError::from)?
        }
    };
    if arguments.json {
        show::print(&format!("{}\n", serde_json::to_string(&plan)?))?;
    } else {
        show::print(&text(&plan, store.blocks().len()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The plan as a table.
pub fn text(plan: &Plan, blocks: usize) -> String {
    let line = |name: &str, value: String| (name.to_string(), value);
    let rows = format!("{} rows, {} values", show::count(plan.resident_rows), show::count(plan.resident_values));
    let how = if plan.in_memory {
        format!("everything fits: {} are read once", size::show(plan.pass_bytes))
    } else {
        format!("{} blocks, {} from disk in every pass", show::count(blocks as u64), size::show(plan.pass_bytes))
    };
    let mut lines = vec![
        line(
            "budget",
            size::show(plan.budget_bytes)
                + &if plan.models > 1 { format!(", {} models at a time", plan.models) } else { String::new() },
        ),
        line("  the program", size::show(plan.program_bytes)),
        line("  weights", size::show(plan.weight_bytes)),
        line(
            "  dual variables",
            size::show(plan.dual_bytes) + if plan.duals_on_disk { ", the rest on disk" } else { "" },
        ),
        line("  read-ahead", size::show(plan.read_ahead_bytes)),
        line("  resident rows", format!("{} ({rows})", size::show(plan.resident_bytes))),
    ];
    if plan.solver == Solver::Columns {
        lines.push(line("  rows by column", size::show(plan.column_bytes)));
    }
    let copies = match plan.spare_bytes * plan.models {
        0 => String::new(),
        bytes => format!(", at most {} of it for copies of columns", size::show(bytes)),
    };
    lines.extend([
        line("  left over", size::show(plan.budget_bytes.saturating_sub(plan.used_bytes())) + &copies),
        line("reading", how),
        line("least budget", size::show(plan.least_bytes)),
    ]);
    match (plan.solver, plan.columns_from_bytes) {
        (Solver::Columns, _) => lines.push(line("solver", "coordinate descent on columns".into())),
        (_, Some(bytes)) => {
            lines.push(line("solver", format!("dual coordinate descent; on columns with --memory {bytes} or more")))
        }
        (_, None) => {}
    }
    show::table(&lines)
}
