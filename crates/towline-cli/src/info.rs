//! `towline info`: what a store holds.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use towline::budget::Budget;
use towline::index::IndexManifest;
use towline::model::Model;
use towline::objective::Targets;
use towline::store::manifest::Manifest;
use towline::store::{BlockStore, DiskStore, table_columns};
use towline::trainer::StoreFingerprint;

use crate::memory::{self, Memory};
use crate::top::Top;
use crate::{columns, schema, show, size};

/// Arguments of `towline info`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The store or model to look at
    path: PathBuf,
    /// List this many features of a model with the weights that matter most: by |weight| times the deviation of the feature's
    /// values, if --rows tells it, else by |weight|
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// A store with rows of the model's features, such as those of training, which are read twice
    #[arg(long, value_name = "STORE", requires = "top")]
    rows: Option<PathBuf>,
    /// Say what was found in each column of a table: features, absent cells, examples; the rows are read once
    #[arg(long)]
    columns: bool,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
    /// Memory for the whole process, such as 512M, or +512M for data beside the program itself
    /// [default: half of what is free, at most 4G]
    #[arg(long, value_parser = memory::parse)]
    memory: Option<Memory>,
}

/// Prints what the manifest and the block headers say.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if arguments.path.is_file() {
        if arguments.columns {
            bail!("--columns is about the rows of a store, and {} is a file", arguments.path.display());
        }
        return model_info(arguments);
    }
    if arguments.top.is_some() {
        bail!("--top is about the weights of a model, and {} is a store", arguments.path.display());
    }
    let budget = memory::budget(arguments.memory);
    let store = DiskStore::open_within(&arguments.path, &budget)?;
    if arguments.columns {
        return column_info(arguments, &store, &budget);
    }
    let encodings = store.encodings()?;
    if arguments.json {
        show::print(&format!("{}\n", json(&store, &encodings)?))?;
    } else {
        show::print(&text(&store, &encodings))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn column_info(arguments: &Arguments, store: &DiskStore, budget: &Budget) -> anyhow::Result<ExitCode> {
    let Some(schema) = &store.manifest().schema else {
        bail!("{}: its rows have no columns; --columns is about stores of tables", store.path().display());
    };
    let found = table_columns(store, budget)?;
    show::print(&match arguments.json {
        true => format!("{}\n", columns::json(schema, &found)),
        false => columns::text(schema, &found, store.manifest().rows),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn model_info(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let budget = memory::budget(arguments.memory);
    let (model, _paid) = Model::load_within(&arguments.path, &budget)?;
    let top = match arguments.top {
        Some(count) => Some(Top::of(&model, count as usize, arguments.rows.as_deref(), &budget)?),
        None => None,
    };
    if arguments.json {
        let mut value = serde_json::to_value(&model.header)?;
        if let Some(top) = &top {
            value["top"] = top.json(&model);
        }
        show::print(&format!("{value}\n"))?;
    } else {
        show::print(&(model_text(&model) + &top.map_or(String::new(), |top| top.text(&model))))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn model_text(model: &Model) -> String {
    const SHOWN: usize = 10;
    let header = &model.header;
    let names = header.objective.targets.names();
    let largest = |i: usize| model.weights_of(i).iter().map(|weight| weight.abs()).fold(0.0, f64::max);
    let nonzero = model.features.len() as u64;
    // The features with the largest weights, of equal ones the first.
    let mut order: Vec<usize> = Vec::with_capacity(SHOWN + 1);
    for i in 0..model.features.len() {
        let place = order.partition_point(|&other| largest(other) >= largest(i));
        if place < SHOWN {
            order.insert(place, i);
            order.truncate(SHOWN);
        }
    }
    let describe = |&i: &usize| {
        let weights = model.weights_of(i);
        let strongest =
            (0..weights.len()).fold(0, |best, m| if weights[m].abs() > weights[best].abs() { m } else { best });
        let class = if weights.len() > 1 { format!(" for {}", names[strongest]) } else { String::new() };
        format!("{} {:.4}{class}", model.features.name(i), weights[strongest])
    };
    let top: Vec<String> = order.iter().map(describe).collect();
    let line = |name: &str, value: String| (name.to_string(), value);
    let method = header.baseline.map_or(String::new(), |baseline| format!(" by {}", baseline.name()));
    let map = header.fourier.map_or(String::new(), |map| format!(", mapped to {}", map.describe()));
    let targets = match &header.objective.targets {
        Targets::Binary { names, weights, .. } => {
            format!("{} (score below 0, weight {}) and {} (weight {})", names[0], weights[0], names[1], weights[1])
        }
        Targets::Classes { classes, multiclass } => {
            let weigh = |(name, weight): (&String, &f64)| match *weight == 1.0 {
                true => name.clone(),
                false => format!("{name} (weight {weight})"),
            };
            let listed: Vec<String> = classes.names.iter().zip(&classes.weights).map(weigh).collect();
            format!("{} classes by {}: {}", classes.len(), multiclass.name(), listed.join(", "))
        }
        Targets::OneOf { class, classes } => format!("{} against all others", classes.names[*class as usize]),
        Targets::Several { names } => format!("{} numbers: {}", names.len(), names.join(", ")),
        _ => "numbers".to_string(),
    };
    let calibration = header.reporting.calibration.as_ref().map(|calibration| {
        line("probabilities", format!("calibrated by {} on {} folds", calibration.method, calibration.folds))
    });
    let intercepts: Vec<String> = header.intercepts.iter().take(SHOWN).map(|&number| show::number(number)).collect();
    let mut lines = vec![
        line("model", format!("by {}, trained on {} rows{method}{map}", header.created_by, show::count(header.rows))),
        line(
            "objective",
            format!(
                "{} loss{}, C = {}, {}, {}",
                header.objective.loss.name(),
                header.objective.truncate.map_or(String::new(), |s| format!(" cut off at {}", 1.0 + s)),
                header.objective.c,
                header.objective.penalty.describe(),
                if header.objective.intercept {
                    "unpenalised intercept".to_string()
                } else {
                    format!("bias {}", header.objective.bias)
                }
            ),
        ),
        line("targets", targets),
        line(
            "value",
            header.certificate.map_or("unknown: one pass over a stream".to_string(), |certificate| {
                let (objective, gap) = (certificate.objective, certificate.relative_gap());
                let outliers = if header.objective.truncate.is_some() { " without its outliers" } else { "" };
                format!("{}, at most {gap:.2e} of it above the optimum{outliers}", show::measure(objective))
            }),
        ),
        line("status", format!("{:?}", header.status).to_lowercase()),
        line(
            "weights",
            format!(
                "{} of {} features, intercept {}",
                show::count(nonzero),
                show::count(header.features),
                intercepts.join(", ")
            ),
        ),
        line("largest", top.join(", ")),
    ];
    lines.extend(calibration);
    show::table(&lines)
}

fn store_bytes(manifest: &Manifest) -> u64 {
    manifest.block_files.iter().chain(&manifest.feature_maps).chain([&manifest.table]).map(|file| file.bytes).sum()
}

fn density(manifest: &Manifest) -> f64 {
    manifest.values as f64 / (manifest.rows as f64 * manifest.features as f64).max(1.0)
}

fn json(store: &DiskStore, encodings: &BTreeMap<&'static str, u64>) -> anyhow::Result<serde_json::Value> {
    let manifest = store.manifest();
    let mut value = serde_json::to_value(manifest)?;
    value["schema"] = 1.into();
    value["blocks"] = store.blocks().len().into();
    value["store_bytes"] = store_bytes(manifest).into();
    value["bytes_per_value"] = (store_bytes(manifest) as f64 / manifest.values.max(1) as f64).into();
    value["density"] = density(manifest).into();
    value["encodings"] = serde_json::to_value(encodings)?;
    value["index"] = serde_json::to_value(IndexManifest::read(store.path()).ok().flatten())?;
    Ok(value)
}

fn text(store: &DiskStore, encodings: &BTreeMap<&'static str, u64>) -> String {
    let manifest = store.manifest();
    let rows = manifest.row_summary;
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut line = |name: &str, value: String| lines.push((name.to_string(), value));
    line(
        "store",
        format!("{}, generation {}, by {}", store.path().display(), manifest.generation, manifest.created_by),
    );
    line("rows", show::count(manifest.rows));
    let kind = if manifest.named_features { "named" } else { "numbered" };
    line("features", format!("{} seen, {kind}", show::count(manifest.features)));
    let mean = manifest.values as f64 / manifest.rows.max(1) as f64;
    let spread =
        format!("{} to {} a row, {mean:.1} on average", show::count(rows.min_values), show::count(rows.max_values));
    line("values", format!("{} ({spread}), density {:.2e}", show::count(manifest.values), density(manifest)));
    let norms = [rows.min_sq_norm, rows.mean_sq_norm, rows.max_sq_norm].map(|v| show::number(v.sqrt()));
    line("row length", format!("{} to {}, root mean square {}", norms[0], norms[2], norms[1]));
    if manifest.targets.is_empty() {
        line("labels", labels(manifest));
    }
    for target in &manifest.targets {
        let range = format!("{} to {}", show::number(target.min), show::number(target.max));
        line("target", format!("{}: {range}, mean {}", target.name, show::number(target.mean)));
    }
    let blocks = store.blocks();
    let resident: u64 = blocks.iter().map(|b| b.resident_bytes(manifest.layout)).sum();
    let bytes = store_bytes(manifest);
    let per_value = bytes as f64 / manifest.values.max(1) as f64;
    line("on disk", format!("{} ({per_value:.2} bytes a value)", size::show(bytes)));
    line("in memory", format!("{} as {}", size::show(resident), layout(manifest)));
    line("blocks", show::count(blocks.len() as u64));
    let shares: Vec<String> = encodings.iter().map(|(name, n)| format!("{name} {n}")).collect();
    line("encodings", shares.join(", "));
    let order = manifest.shuffle_seed.map_or("as in the input".to_string(), |seed| format!("shuffled, seed {seed}"));
    line("row order", order);
    line("columns", if manifest.renumbered { "by frequency" } else { "in feature order" }.to_string());
    line("scale", format!("{:?}", manifest.scale).to_lowercase());
    if let Some(map) = manifest.fourier {
        line("map", map.describe());
    }
    if let Some(stored) = manifest.made_from {
        let (features, values) = (show::count(stored.features), show::count(stored.values));
        line("made from", format!("{values} values of {features} features, whenever a block is read"));
    }
    manifest.schema.iter().flat_map(schema::lines).for_each(|(name, value)| line(&name, value));
    line("precision", format!("{:?}", manifest.precision).to_lowercase());
    line("weights", if manifest.weighted { "one per row" } else { "none" }.to_string());
    line("groups", if manifest.grouped { "one per row" } else { "none" }.to_string());
    if let Some(text) = index(store) {
        line("index", text);
    }
    for source in &manifest.sources {
        line("source", format!("{} ({}, generation {})", source.name, size::show(source.bytes), source.generation));
    }
    show::table(&lines)
}

/// What the index of the store is like, if there is one.
fn index(store: &DiskStore) -> Option<String> {
    let index = match IndexManifest::read(store.path()) {
        Ok(None) => return None,
        Ok(Some(index)) => index,
        Err(_) => return Some("damaged; build it again with 'towline index'".into()),
    };
    let parts = format!(
        "{} trees, {} leaves, {}",
        show::count(index.trees),
        show::count(index.leaves),
        size::show(index.pages.bytes + index.table.bytes)
    );
    let is_current = index.is_of(&StoreFingerprint::of(store.manifest()));
    let note =
        if is_current { String::new() } else { format!("; out of date (generation {})", index.store.generation) };
    Some(parts + &note)
}

fn layout(manifest: &Manifest) -> String {
    let rows = if manifest.layout.dense { "dense" } else { "sparse" };
    format!("{rows} rows, {:?} values", manifest.layout.values).to_lowercase()
}

/// The classes with their rows, the most frequent first; a range where there are very many.
fn labels(manifest: &Manifest) -> String {
    let labels = &manifest.labels;
    const SHOWN: usize = 12;
    match &labels.histogram {
        Some(histogram) if histogram.len() <= 1000 => {
            let name = |label: f64| match labels.names.as_ref().and_then(|names| names.get(label as usize)) {
                Some(name) => name.clone(),
                None => show::number(label),
            };
            let mut classes: Vec<_> = histogram.iter().collect();
            classes.sort_by_key(|&&(_, rows)| std::cmp::Reverse(rows));
            let shown: Vec<String> = classes
                .iter()
                .take(SHOWN)
                .map(|&&(label, rows)| format!("{} x {}", name(label), show::count(rows)))
                .collect();
            let more = if classes.len() > SHOWN { format!(", … {} in all", classes.len()) } else { String::new() };
            shown.join(", ") + &more
        }
        _ => {
            format!("{} to {}, mean {}", show::number(labels.min), show::number(labels.max), show::number(labels.mean))
        }
    }
}
