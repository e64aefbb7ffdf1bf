//! Which of two classes is the positive one of a model that is there.
use anyhow::bail;
use towline::objective::Targets;

/// The argument of verbs that judge or use a model.
#[derive(clap::Args)]
pub struct PositiveArgument {
    /// The class that precision, recall, areas and thresholds are about [default: what training said, else the rarer one
    /// in training]
    #[arg(long, value_name = "LABEL", allow_hyphen_values = true)]
    positive: Option<String>,
}

impl PositiveArgument {
    /// Its place among the names of two classes.
    pub fn place(&self, targets: &Targets) -> anyhow::Result<Option<usize>> {
        let Some(label) = &self.positive else { return Ok(None) };
        let Targets::Binary { names, .. } = targets else {
            bail!("--positive is for models that tell two classes apart; leave it out");
        };
        let is_it = |name: &String| {
            name == label || matches!((name.parse::<f64>(), label.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
        };
        match names.iter().position(is_it) {
            Some(place) => Ok(Some(place)),
            None => {
                bail!("the model tells {} and {} apart, and '{label}' is neither; name one of them", names[0], names[1])
            }
        }
    }
}
