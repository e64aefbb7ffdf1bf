//! The weights of a model that matter most.
use std::path::Path;

use towline::budget::Budget;
use towline::model::Model;
use towline::model::spread::deviations;
use towline::store::DiskStore;

/// Features in the order of how much they matter.
pub struct Top {
    features: Vec<usize>,
    /// How far the values of each feature of the model spread, if that is known.
    deviations: Option<Vec<f64>>,
}

/// The output with the largest weight of a feature.
fn strongest(weights: &[f64]) -> usize {
    (0..weights.len()).fold(0, |best, m| if weights[m].abs() > weights[best].abs() { m } else { best })
}

impl Top {
    /// The first `count` features; the rows of a store tell how far values spread.
    pub fn of(model: &Model, count: usize, rows: Option<&Path>, budget: &Budget) -> anyhow::Result<Top> {
        let deviations = match rows {
            Some(path) => Some(deviations(model, &DiskStore::open_within(path, budget)?, budget)?),
            None => None,
        };
        let mut top = Top { features: (0..model.features.len()).collect(), deviations };
        let mut features = std::mem::take(&mut top.features);
        features.sort_by(|&a, &b| top.effect(model, b).abs().total_cmp(&top.effect(model, a).abs()).then(a.cmp(&b)));
        features.truncate(count);
        Ok(Top { features, ..top })
    }

    /// What a step of one deviation of the feature adds to the score; the weight, if deviations are not known.
    fn effect(&self, model: &Model, feature: usize) -> f64 {
        let weights = model.weights_of(feature);
        weights[strongest(weights)] * self.deviations.as_ref().map_or(1.0, |deviations| deviations[feature])
    }

    /// For a person, names first.
    pub fn text(&self, model: &Model) -> String {
        let names = model.header.objective.targets.names();
        let name = |&feature: &usize| model.features.name(feature);
        let width = self.features.iter().map(|feature| name(feature).chars().count()).max().unwrap_or(0).max(7);
        let mut out = match self.deviations {
            Some(_) => format!("\n{:<width$}  {:>12}  {:>12}\n", "feature", "weight", "x deviation"),
            None => format!(
                "\nby |weight|, since the model does not know how far values spread: add --rows STORE\n{:<width$}  {:>12}\n",
                "feature", "weight"
            ),
        };
        for feature in &self.features {
            let weights = model.weights_of(*feature);
            let at = strongest(weights);
            out += &format!("{:<width$}  {:>12.6}", name(feature), weights[at]);
            if self.deviations.is_some() {
                out += &format!("  {:>12.6}", self.effect(model, *feature));
            }
            if let (true, Some(class)) = (weights.len() > 1, names.get(at)) {
                out += &format!("  for {class}");
            }
            out += "\n";
        }
        out
    }

    /// For programs.
    pub fn json(&self, model: &Model) -> serde_json::Value {
        let entry = |&feature: &usize| {
            serde_json::json!({
                "feature": model.features.name(feature),
                "weights": model.weights_of(feature),
                "deviation": self.deviations.as_ref().map(|deviations| deviations[feature]),
            })
        };
        self.features.iter().map(entry).collect()
    }
}
