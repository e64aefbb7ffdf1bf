//! What is minimised, from what was typed.
use std::path::Path;

use anyhow::bail;
use clap::ValueEnum;
use towline::budget::Budget;
use towline::loss::AnyLoss;
use towline::objective::{Classes, Multiclass, Objective, Targets};
use towline::penalty::AnyPenalty;
use towline::store::DiskStore;
use towline::store::manifest::Manifest;
use towline::stream::StreamOptions;
use towline::task::{MOST_CLASSES, Task};

use crate::liblinear;
use crate::penalty::PenaltyArguments;

/// Arguments that say what is minimised, but for C.
#[derive(clap::Args, Clone)]
pub struct ObjectiveArguments {
    /// hinge, squared-hinge, logistic, squared, epsilon-insensitive, squared-epsilon-insensitive or huber [default: hinge for classes, logistic for softmax, squared for regression]
    #[arg(long)]
    pub loss: Option<String>,
    /// The loss by LIBLINEAR's number: 0, 7 logistic; 1, 2 squared-hinge; 3 hinge; 4 crammer-singer; 11, 12 squared-epsilon-insensitive; 13 epsilon-insensitive
    #[arg(short = 's', value_name = "TYPE", value_parser = liblinear::solver, conflicts_with_all = ["loss", "multiclass"])]
    liblinear_type: Option<liblinear::Solver>,
    #[command(flatten)]
    penalty: PenaltyArguments,
    /// What the penalty is multiplied by
    #[arg(long, default_value_t = 1.0)]
    lambda: f64,
    /// Half the width of the tube of the epsilon-insensitive losses
    #[arg(long, short = 'p', default_value_t = 0.1)]
    epsilon: f64,
    /// Where the huber loss becomes linear
    #[arg(long, default_value_t = 1.0)]
    delta: f64,
    /// Append a constant feature of this value to every row; its weight is penalised like the others [0 or less: none]
    #[arg(long, short = 'B', value_parser = liblinear::bias, allow_negative_numbers = true)]
    bias: Option<f64>,
    /// Fit an intercept that is free of the penalty [default for tables: CSV, Parquet, Arrow]
    #[arg(long, conflicts_with = "bias")]
    intercept: bool,
    /// Fit none [default for libsvm rows]
    #[arg(long, conflicts_with_all = ["bias", "intercept"])]
    no_intercept: bool,
    /// Whether labels are classes or numbers to predict [default: by the loss, else by the labels]
    #[arg(long, value_enum)]
    task: Option<TaskChoice>,
    /// How more than two classes are told apart: each from all others, or all in one objective
    #[arg(long, value_enum, default_value_t = MulticlassChoice::Auto)]
    multiclass: MulticlassChoice,
    /// The class to tell from all others
    #[arg(long, value_name = "LABEL", conflicts_with = "multiclass")]
    positive: Option<String>,
    /// LABEL=W multiplies the weight of a class (repeat for others), balanced gives all classes the same weight in all
    #[arg(long, value_name = "LABEL=W|balanced", allow_hyphen_values = true)]
    class_weight: Vec<String>,
}

/// What labels are.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum TaskChoice {
    /// Each label is a class
    #[value(alias = "classification")]
    Classes,
    /// Labels are numbers to predict
    Regression,
}

/// How more than two classes are told apart.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum MulticlassChoice {
    /// ovr where there are more than two classes; crammer-singer for a stream with the hinge loss
    Auto,
    /// One model per class against all others
    Ovr,
    /// One objective with the hinge loss
    CrammerSinger,
    /// One objective with the logistic loss
    Softmax,
}

impl MulticlassChoice {
    /// What was asked for, if it was.
    pub fn given(self) -> Option<Multiclass> {
        match self {
            MulticlassChoice::Auto => None,
            MulticlassChoice::Ovr => Some(Multiclass::OneVsRest),
            MulticlassChoice::CrammerSinger => Some(Multiclass::CrammerSinger),
            MulticlassChoice::Softmax => Some(Multiclass::Softmax),
        }
    }
}

/// Which constant there is beside the features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// A constant feature of this value, 0 for none, whose weight is penalised.
    Feature(f64),
    /// An intercept that is free of the penalty.
    Intercept,
}

impl ObjectiveArguments {
    /// Which constant there is: an intercept for tables, as their users expect, unless something else is typed. Where the method can have no intercept,
    /// a constant feature of 1 takes the place of one that was not typed.
    pub fn constant(&self, is_table: bool, can_be_free: bool) -> Constant {
        match self.bias {
            Some(bias) => Constant::Feature(bias),
            None if self.intercept => Constant::Intercept,
            None if self.no_intercept || !is_table => Constant::Feature(0.0),
            None if can_be_free => Constant::Intercept,
            None => Constant::Feature(1.0),
        }
    }

    /// What is minimised on `store` with this C; `can_be_free` says whether the method can have an intercept.
    pub fn objective(
        &self,
        c: f64,
        can_be_free: bool,
        store: &DiskStore,
        budget: &Budget,
    ) -> anyhow::Result<Objective> {
        let multiclass = self.multiclass();
        let loss = self.loss_for(self.task(store.manifest())?)?;
        let c = positive_number("-C", c)?;
        // An intercept is the weight of a constant feature, free of the penalty.
        let (bias, intercept) = match self.constant(store.manifest().named_features, can_be_free) {
            Constant::Intercept => (1.0, true),
            Constant::Feature(bias) => (bias, false),
        };
        let targets = self.targets(loss, multiclass, store.manifest())?;
        let outputs = Objective::new(loss, c, targets.clone()).width();
        let penalty = self.penalty.penalty(self.lambda, outputs, store, budget)?;
        let objective = Objective { bias, penalty, intercept, ..Objective::new(loss, c, targets) };
        if multiclass == Some(Multiclass::CrammerSinger) && objective.penalty != AnyPenalty::default() {
            bail!(
                "--multiclass crammer-singer has the penalty l2 with --lambda 1 only; use --multiclass softmax or ovr"
            );
        }
        check_representable(&objective, store.manifest())?;
        Ok(objective)
    }

    /// What is predicted: what was asked for, what the other options are about, else what the labels suggest.
    pub fn task(&self, manifest: &Manifest) -> anyhow::Result<Task> {
        let of_loss = self.typed_loss()?.map(|loss| match loss.is_classification() {
            true => Task::Classification,
            false => Task::Regression,
        });
        let is_for_classes = self.multiclass().is_some() || self.positive.is_some() || !self.class_weight.is_empty();
        let asked = match self.task {
            Some(TaskChoice::Classes) => Some(Task::Classification),
            Some(TaskChoice::Regression) => Some(Task::Regression),
            None => None,
        };
        if let (Some(asked), Some(of_loss)) = (asked, of_loss)
            && asked != of_loss
        {
            bail!("--task and --loss do not go together: one is about classes, the other about numbers; leave one out");
        }
        let of_options = is_for_classes.then_some(Task::Classification);
        Ok(asked.or(of_loss).or(of_options).unwrap_or_else(|| Task::suggested_by(manifest)))
    }

    /// In a line what is predicted and why, where nothing but the labels of a table said it.
    pub fn task_note(&self, manifest: &Manifest) -> anyhow::Result<Option<String>> {
        let is_open = self.task.is_none() && self.typed_loss()?.is_none() && self.multiclass().is_none();
        if !is_open || self.positive.is_some() || !manifest.named_features {
            return Ok(None);
        }
        let values = manifest.labels.histogram.as_ref().map_or("very many".to_string(), |h| h.len().to_string());
        Ok(Some(match self.task(manifest)? {
            Task::Regression => {
                format!(
                    "task regression: the label is a number with {values} values; --task classes takes each for a class"
                )
            }
            Task::Classification if manifest.labels.names.is_some() => {
                format!("task classification: the label is text with {values} values")
            }
            Task::Classification => {
                format!("task classification: the label has {values} values; --task regression predicts the number")
            }
        }))
    }

    /// The loss that was typed, else the default for what is predicted.
    fn loss_for(&self, task: Task) -> anyhow::Result<AnyLoss> {
        match (self.typed_loss()?, task) {
            (None, Task::Regression) => Ok(AnyLoss::from_name("squared", self.epsilon, self.delta)?),
            _ => self.loss(self.multiclass()),
        }
    }

    /// The loss that was typed, if one was.
    fn typed_loss(&self) -> anyhow::Result<Option<AnyLoss>> {
        let typed = self.liblinear_type.map(|solver| solver.loss).or(self.loss.as_deref());
        Ok(typed.map(|name| AnyLoss::from_name(name, self.epsilon, self.delta)).transpose()?)
    }

    /// The file that says which features belong together, if there is one.
    pub fn group_file(&self) -> Option<&Path> {
        self.penalty.group_file()
    }

    /// The same with each of several losses, separated by commas.
    pub fn each_loss(&self) -> Vec<ObjectiveArguments> {
        match &self.loss {
            None => vec![self.clone()],
            Some(names) => names
                .split(',')
                .map(|name| ObjectiveArguments { loss: Some(name.trim().to_string()), ..self.clone() })
                .collect(),
        }
    }

    /// The same for a stream, whose labels are not known yet.
    pub fn for_stream(&self, c: f64) -> anyhow::Result<StreamOptions> {
        let multiclass = self.multiclass();
        let task = match self.task {
            Some(TaskChoice::Regression) => Task::Regression,
            _ => Task::Classification,
        };
        let loss = self.loss_for(task)?;
        let mut options = StreamOptions::new(loss, positive_number("-C", c)?);
        self.check_regression(loss, multiclass)?;
        let bias = self.bias.unwrap_or(0.0);
        (options.bias, options.positive, options.multiclass) = (bias, self.positive.clone(), multiclass);
        for word in &self.class_weight {
            let weight = word.rsplit_once('=').and_then(|(name, weight)| Some((name, weight.parse::<f64>().ok()?)));
            match weight {
                Some((name, weight)) if weight.is_finite() && weight >= 0.0 => {
                    options.class_weights.push((name.to_string(), weight));
                }
                _ => bail!(
                    "'{word}' is not a class weight for a stream; write LABEL=W with a number W that is 0 or more"
                ),
            }
        }
        Ok(options)
    }

    fn multiclass(&self) -> Option<Multiclass> {
        self.multiclass.given().or_else(|| self.liblinear_type.and_then(|solver| solver.multiclass))
    }

    fn loss(&self, multiclass: Option<Multiclass>) -> anyhow::Result<AnyLoss> {
        let own = match multiclass {
            Some(Multiclass::CrammerSinger) => Some("hinge"),
            Some(Multiclass::Softmax) => Some("logistic"),
            _ => None,
        };
        let typed = self.liblinear_type.map(|solver| solver.loss).or(self.loss.as_deref());
        if let (Some(own), Some(typed)) = (own, typed)
            && own != typed
        {
            let name = multiclass.map_or("", Multiclass::name);
            bail!(
                "--multiclass {name} is the {own} loss for many classes, not {typed}; leave --loss out, or use --multiclass ovr"
            );
        }
        Ok(AnyLoss::from_name(typed.or(own).unwrap_or("hinge"), self.epsilon, self.delta)?)
    }

    /// Refuses options for classes where numbers are predicted.
    fn check_regression(&self, loss: AnyLoss, multiclass: Option<Multiclass>) -> anyhow::Result<()> {
        let for_classes = self.positive.is_some() || !self.class_weight.is_empty() || multiclass.is_some();
        if for_classes && !loss.is_classification() {
            bail!(
                "--positive, --multiclass and --class-weight are for classification, and the {} loss is for regression",
                loss.name()
            );
        }
        Ok(())
    }

    fn targets(&self, loss: AnyLoss, multiclass: Option<Multiclass>, manifest: &Manifest) -> anyhow::Result<Targets> {
        let labels = &manifest.labels;
        if !manifest.targets.is_empty() && !matches!(loss, AnyLoss::Squared(_)) {
            bail!(
                "the rows of this store have {} targets, which --loss squared predicts together; for the {} loss pack them with one --label",
                manifest.targets.len(),
                loss.name()
            );
        }
        if !loss.is_classification() {
            self.check_regression(loss, multiclass)?;
            if labels.names.is_some() {
                bail!("the labels are text, and the {} loss predicts numbers; use a classification loss", loss.name());
            }
            let names: Vec<String> = manifest.targets.iter().map(|target| target.name.clone()).collect();
            return Ok(if names.is_empty() { Targets::Numbers } else { Targets::Several { names } });
        }
        let joint = multiclass.filter(|&multiclass| multiclass != Multiclass::OneVsRest);
        let mut targets = if self.positive.is_some() {
            Targets::binary(labels, self.positive.as_deref())?
        } else {
            let classes = Classes::of(labels)?;
            if classes.len() > MOST_CLASSES && self.task != Some(TaskChoice::Classes) {
                let other = if labels.names.is_none() { ", --task regression predicts the number" } else { "" };
                bail!(
                    "the label has {} values, and each would be a class; --task classes trains on all of them{other}",
                    classes.len()
                );
            }
            // One score tells two classes apart.
            match joint {
                None if classes.len() == 2 => Targets::binary(labels, None)?,
                _ => Targets::Classes { classes, multiclass: joint.unwrap_or(Multiclass::OneVsRest) },
            }
        };
        targets.weigh(labels, &self.class_weight)?;
        Ok(targets)
    }
}

/// Squares of sums over all rows must stay numbers; this leaves room for both.
const LARGEST_SUM: f64 = 1e150;

/// Refuses what floating point has no numbers for, before hours are spent on it.
fn check_representable(objective: &Objective, manifest: &Manifest) -> anyhow::Result<()> {
    let labels = [manifest.labels.min, manifest.labels.max].into_iter();
    let labels = labels.chain(manifest.targets.iter().flat_map(|target| [target.min, target.max]));
    let label = if objective.targets.are_numbers() { labels.map(f64::abs).fold(1.0, f64::max) } else { 1.0 };
    let length = manifest.row_summary.max_sq_norm.sqrt().max(1.0);
    let lambda = objective.penalty.lambda();
    let per_row = objective.c / if lambda > 0.0 { lambda.min(1.0) } else { 1.0 };
    let sum = per_row * manifest.rows as f64 * length * label;
    if sum.is_finite() && sum <= LARGEST_SUM {
        return Ok(());
    }
    bail!(
        "the numbers of this training would be too large: -C {:e} for {} rows of length up to {length:e} and labels up to {label:e}; use a smaller -C, or scale labels and values",
        objective.c,
        manifest.rows
    )
}

/// A number above 0.
pub fn positive_number(name: &str, value: f64) -> anyhow::Result<f64> {
    if value.is_finite() && value > 0.0 { Ok(value) } else { bail!("{name} must be a number above 0, not {value}") }
}

/// A number that is 0 or more.
pub fn not_negative(name: &str, value: f64) -> anyhow::Result<f64> {
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        bail!("{name} must be a number that is 0 or more, not {value}")
    }
}
