//! Which groups of features have weights, for the record of a run: a model does not know its groups.
use std::collections::HashMap;

use super::data::Data;
use crate::budget::Budget;
use crate::engine::{GroupRecord, RunRecord, Trained};
use crate::objective::Objective;
use crate::penalty::AnyPenalty;

/// Groups that are listed, and features of each.
const LISTED: usize = 60;
const EXAMPLES: usize = 3;

/// Writes the groups with the largest norms down. Where there is no memory for it, nothing is written.
pub(super) fn note(record: &mut RunRecord, objective: &Objective, trained: &[Trained], data: &Data, budget: &Budget) {
    let AnyPenalty::Group(penalty) = &objective.penalty else { return };
    let groups = penalty.groups.of_column();
    let width = objective.width();
    let Some(columns) = trained.first().map(|model| model.weights.len() / width).filter(|_| !groups.is_empty()) else {
        return;
    };
    let Ok(_paid) = budget.reserve("norms of groups", 16 * penalty.groups.count()) else { return };
    let mut squares = vec![(0.0, 0u64); penalty.groups.count() as usize];
    // The last column is the constant feature, which is no feature.
    for column in 0..columns.saturating_sub(1) {
        let Some(&group) = groups.get(column * width) else { break };
        let (sum, features) = &mut squares[group as usize];
        let weights = trained.iter().flat_map(|model| &model.weights[column * width..][..width]);
        *sum += weights.map(|weight| weight * weight).sum::<f64>();
        *features += 1;
    }
    let mut order: Vec<usize> = (0..squares.len()).filter(|&group| squares[group].1 > 0).collect();
    record.groups_in_all = order.len() as u64;
    record.groups_without_weight = order.iter().filter(|&&group| squares[group].0 == 0.0).count() as u64;
    order.sort_by(|&a, &b| squares[b].0.total_cmp(&squares[a].0).then(a.cmp(&b)));
    order.truncate(LISTED);
    let mut examples: HashMap<u32, Vec<String>> = order.iter().map(|&group| (group as u32, Vec::new())).collect();
    let mut add = |column: usize, name: String| {
        let group = groups.get(column * width).and_then(|group| examples.get_mut(group));
        if let Some(names) = group.filter(|names| names.len() < EXAMPLES) {
            names.push(name);
        }
    };
    match data.disk() {
        Some(store) => {
            let Ok(mut names) = store.feature_columns(budget) else { return };
            let mut column = 0;
            while let Ok(Some((name, _))) = names.next() {
                add(column, name.to_string());
                column += 1;
            }
        }
        None => (0..columns.saturating_sub(1)).for_each(|column| add(column, column.to_string())),
    }
    record.groups = order
        .iter()
        .map(|&group| GroupRecord {
            examples: examples.remove(&(group as u32)).unwrap_or_default(),
            features: squares[group].1,
            norm: squares[group].0.sqrt(),
        })
        .collect();
}
