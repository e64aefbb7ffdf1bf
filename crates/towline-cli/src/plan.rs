//! `towline plan`: where every byte of a training run would go.
use std::path::PathBuf;
use std::process::ExitCode;

use std::sync::Arc;

use towline::Fit;
use towline::fit::reserve_classes;
use towline::loss::AnyLoss;
use towline::objective::{Classes, Multiclass, Targets};
use towline::store::{BlockStore, DiskStore};
use towline::trainer::{Choice, Plan, Solver};

use crate::memory::{self, Memory};
use crate::objective::MulticlassChoice;
use crate::penalty::PenaltyArguments;
use crate::{method, show, size};

/// Arguments of `towline plan`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The store that would be trained on
    store: PathBuf,
    /// Memory for the whole process, such as 512M, or +512M for data beside the program itself
    /// [default: half of what is free, at most 4G]
    #[arg(long, value_parser = memory::parse)]
    memory: Option<Memory>,
    #[command(flatten)]
    penalty: PenaltyArguments,
    /// Plan for this loss: with sparse penalties, non-smooth ones are solved in another way
    #[arg(long, default_value = "hinge")]
    loss: String,
    /// Plan for this solver
    #[arg(long, default_value = "auto", value_parser = method::solver())]
    solver: Solver,
    /// Plan for an intercept that is free of the penalty
    #[arg(long)]
    intercept: bool,
    /// Plan for this many models that train together, such as one per class
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    models: u64,
    /// Plan for this many outputs in one objective, such as the classes of softmax [default: the targets of a row]
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
    let store = Arc::new(DiskStore::open_within(&arguments.store, &budget)?);
    let outputs = arguments.outputs.map_or(store.shape().layout.targets as usize, usize::from);
    // How large the numbers of a loss and λ are takes no memory.
    let loss = AnyLoss::named(&arguments.loss)?;
    let multiclass = arguments.multiclass.map(|choice| choice.given().unwrap_or(Multiclass::OneVsRest));
    let targets = match (multiclass, outputs) {
        (Some(multiclass), _) => Targets::Classes { classes: Classes::of(&store.manifest().labels)?, multiclass },
        (None, 1) => Targets::Numbers,
        (None, many) => Targets::Several { names: vec![String::new(); many] },
    };
    let fit = Fit::new().loss(loss).targets(targets).intercept(arguments.intercept).budget(budget.clone());
    let objective = arguments.penalty.set(fit)?.objective(&store)?;
    let models = if multiclass.is_some() { objective.split().len() as u64 } else { arguments.models };
    let _classes = reserve_classes(&objective, models as usize, &budget)?;
    let solver = arguments.solver;
    // Of one-vs-rest, all models are like the first.
    let objective = objective.split().into_iter().next().unwrap_or(objective);
    let choice = Choice::for_models(&*store, &objective, (solver, models as usize), &budget)?;
    let (plan, _) = choice.plan(&*store, &objective, (solver, models as usize), &budget)?;
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
    // A solver of second order that reads rows again and again has no other use for memory.
    let is_scanned = plan.solver.is_second_order() && plan.resident_rows == 0;
    let resident = if is_scanned {
        "none, all are read in every iteration".to_string()
    } else {
        format!("{} ({rows})", size::show(plan.resident_bytes))
    };
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
        line("  resident rows", resident),
    ];
    if plan.solver == Solver::Columns {
        lines.push(line("  rows by column", size::show(plan.column_bytes)));
    }
    if plan.solver.is_second_order() {
        lines.push(line(
            "  the solver",
            format!("{} (matrices, and numbers of each row)", size::show(plan.solver_bytes)),
        ));
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
    let name = match plan.solver {
        Solver::Columns => "coordinate descent on columns",
        Solver::Gram => "gram, normal equations",
        Solver::Newton => "newton, with the exact Hessian",
        Solver::Multipliers => "multipliers, with Newton steps",
        _ => "dual coordinate descent",
    };
    let why = if plan.why.is_empty() { String::new() } else { format!(": {}", plan.why) };
    let columns = plan.columns_from_bytes.map(|bytes| format!("; on columns with --memory {bytes} or more"));
    // Where there was no choice there is nothing to say.
    if plan.solver != Solver::Dual || !why.is_empty() || columns.is_some() {
        lines.push(line("solver", format!("{name}{why}{}", columns.unwrap_or_default())));
    }
    show::table(&lines)
}
