//! `towline train`: a store becomes a model.
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use towline::budget::Budget;
use towline::loss::AnyLoss;
use towline::model::Model;
use towline::objective::{Objective, Targets};
use towline::order::OrderName;
use towline::store::DiskStore;
use towline::store::features::FeatureMap;
use towline::trainer::{Observer, Selection, Step, TrainOptions};

use crate::size;

/// Arguments of `towline train`.
#[derive(clap::Args)]
pub struct Arguments {
    store: PathBuf,
    #[arg(long, short)]
    output: Option<PathBuf>,
    #[arg(long, default_value = "hinge")]
    loss: String,
    #[arg(short = 'C', default_value_t = 1.0)]
    c: f64,
    #[arg(long, default_value_t = 0.0)]
    bias: f64,
    #[arg(long, default_value_t = 0.1)]
    epsilon: f64,
    #[arg(long, default_value_t = 1.0)]
    delta: f64,
    #[arg(long, default_value_t = 1e-3)]
    tolerance: f64,
    #[arg(long, default_value_t = 1000)]
    max_passes: u64,
    #[arg(long)]
    max_time: Option<f64>,
    #[arg(long, default_value = "auto")]
    order: String,
    #[arg(long, default_value_t = 0.5)]
    cache_share: f64,
    #[arg(long, default_value = "gradient")]
    selection: String,
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[arg(long, value_parser = size::parse)]
    memory: Option<u64>,
}

struct Trace;
impl Observer for Trace {
    fn step(&mut self, step: &Step, _w: &[f64]) {
        eprintln!(
            "{:.2}s sweeps {} passes {} read {} dual {:.4} gap {:?}",
            step.cost.seconds,
            step.cost.sweeps,
            step.cost.passes,
            size::show(step.cost.bytes_read),
            step.dual_objective,
            step.certificate.map(|c| (c.relative_gap(), c.multiple))
        );
    }
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let store = Arc::new(DiskStore::open(&arguments.store)?);
    let budget = Budget::new(arguments.memory.unwrap_or_else(towline::machine::default_memory_bytes));
    let loss = AnyLoss::from_name(&arguments.loss, arguments.epsilon, arguments.delta)?;
    let targets =
        if loss.is_classification() { Targets::binary(&store.manifest().labels, None)? } else { Targets::Numbers };
    let objective = Objective { loss, c: arguments.c, bias: arguments.bias, targets };
    let options = TrainOptions {
        objective: objective.clone(),
        tolerance: arguments.tolerance,
        max_passes: arguments.max_passes,
        max_time: arguments.max_time.map(Duration::from_secs_f64),
        order: match arguments.order.as_str() { "permutation" => OrderName::Permutation, "shrinking" => OrderName::Shrinking, "adaptive" => OrderName::Adaptive, _ => OrderName::Auto },
            "permutation" => Some(OrderName::Permutation),
            "shrinking" => Some(OrderName::Shrinking),
            "adaptive" => Some(OrderName::Adaptive),
            _ => None,
        },
        cache_share: arguments.cache_share,
        selection: match arguments.selection.as_str() {
            "random" => Selection::Random,
            "gap" => Selection::Gap,
            _ => Selection::Gradient,
        },
        rounds: arguments.rounds,
        seed: arguments.seed,
        stop: Arc::default(),
    };
    let trained = towline::trainer::train(store.clone(), &options, &budget, &mut Trace)?;
    println!(
        "{:?} {:?} {:?} peak {}",
        trained.status,
        trained.certificate,
        trained.cost,
        size::show(towline::machine::peak_memory_bytes())
    );
    if let Some(path) = &arguments.output {
        let features = FeatureMap::read(store.path(), store.manifest(), &Budget::unlimited())?;
        Model::new(&trained, &objective, &store, &features).save(path)?;
    }
    Ok(ExitCode::SUCCESS)
}
