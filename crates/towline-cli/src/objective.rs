//! What is minimised, from what was typed.
use std::path::Path;

use anyhow::bail;
use clap::ValueEnum;
use towline::Fit;
use towline::loss::{AnyLoss, LossParameters};
use towline::objective::Multiclass;
use towline::task::Task;

use crate::liblinear;
use crate::penalty::PenaltyArguments;

/// Arguments that say what is minimised, but for C.
#[derive(clap::Args, Clone)]
pub struct ObjectiveArguments {
    /// hinge, squared-hinge, logistic, squared, epsilon-insensitive, squared-epsilon-insensitive, huber or quantile
    /// [default: squared for regression; for classes logistic on tables, squared-hinge on tables with text, hinge on libsvm rows]
    #[arg(long)]
    pub loss: Option<String>,
    /// The loss by LIBLINEAR's number: 0, 7 logistic; 1, 2 squared-hinge; 3 hinge; 4 crammer-singer; 11, 12
    /// squared-epsilon-insensitive; 13 epsilon-insensitive
    #[arg(help_heading = "Objective", short = 's', value_name = "TYPE", value_parser = liblinear::solver, conflicts_with_all = ["loss", "multiclass"])]
    liblinear_type: Option<liblinear::Solver>,
    #[command(flatten)]
    penalty: PenaltyArguments,
    /// Regularization strength: what the regularizer is multiplied by [default: 1]
    #[arg(help_heading = "Objective", long)]
    lambda: Option<f64>,
    /// Half the width of the tube of the epsilon-insensitive losses
    #[arg(help_heading = "Objective", long, short = 'p', default_value_t = 0.1)]
    epsilon: f64,
    /// Where the huber loss becomes linear
    #[arg(help_heading = "Objective", long, default_value_t = 1.0)]
    delta: f64,
    /// The part of targets that is to lie below predictions, with the quantile loss
    #[arg(help_heading = "Objective", long, default_value_t = 0.5)]
    quantile: f64,
    /// Append a constant feature of this value to every row; its weight is penalised like the others [0 or less: none]
    #[arg(help_heading = "Objective", long, short = 'B', value_parser = liblinear::bias, allow_negative_numbers = true)]
    bias: Option<f64>,
    /// Fit an intercept that is free of the penalty [default for tables: CSV, Parquet, Arrow]
    #[arg(help_heading = "Objective", long, conflicts_with = "bias")]
    intercept: bool,
    /// Fit none [default for libsvm rows]
    #[arg(help_heading = "Objective", long, conflicts_with_all = ["bias", "intercept"])]
    no_intercept: bool,
    /// Whether labels are classes or numbers to predict [default: by the loss, else by the labels]
    #[arg(help_heading = "Objective", long, value_enum)]
    task: Option<TaskChoice>,
    /// Multiclass strategy: each class against all others, or all in one objective
    #[arg(help_heading = "Multiclass", long, value_enum, default_value_t = MulticlassChoice::Auto)]
    multiclass: MulticlassChoice,
    /// The positive class; all others are the negative one
    #[arg(
        help_heading = "Multiclass",
        long,
        value_name = "LABEL",
        allow_hyphen_values = true,
        conflicts_with = "multiclass"
    )]
    positive: Option<String>,
    /// LABEL=W multiplies the weight of a class (repeat for others), balanced gives all classes the same weight in all
    #[arg(help_heading = "Multiclass", long, value_name = "LABEL=W|balanced", allow_hyphen_values = true)]
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

impl ObjectiveArguments {
    /// A fit of this objective; what was not typed follows from the data.
    pub fn fit(&self) -> anyhow::Result<Fit> {
        let mut fit = self.penalty.set(Fit::new())?;
        if let Some(lambda) = self.lambda {
            fit = fit.lambda(lambda);
        }
        if let Some(loss) = self.typed_loss()? {
            fit = fit.loss(loss);
        }
        if let Some(multiclass) = self.multiclass() {
            fit = fit.multiclass(multiclass);
        }
        if let Some(label) = &self.positive {
            fit = fit.positive(label);
        }
        fit = match self.task {
            Some(TaskChoice::Classes) => fit.task(Task::Classification),
            Some(TaskChoice::Regression) => fit.task(Task::Regression),
            None => fit,
        };
        fit = match self.bias {
            Some(bias) => fit.bias(bias),
            None if self.intercept => fit.intercept(true),
            None if self.no_intercept => fit.intercept(false),
            None => fit,
        };
        Ok(self.class_weight.iter().fold(fit, |fit, word| fit.class_weight_word(word.clone())))
    }

    /// The loss that was typed, if one was.
    fn typed_loss(&self) -> anyhow::Result<Option<AnyLoss>> {
        let parameters = LossParameters { epsilon: self.epsilon, delta: self.delta, quantile: self.quantile };
        let typed = self.liblinear_type.map(|solver| solver.loss).or(self.loss.as_deref());
        Ok(typed.map(|name| AnyLoss::from_name(name, parameters)).transpose()?)
    }

    fn multiclass(&self) -> Option<Multiclass> {
        self.multiclass.given().or_else(|| self.liblinear_type.and_then(|solver| solver.multiclass))
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
