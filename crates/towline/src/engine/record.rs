//! What a run leaves behind of its way: some of its steps, what it said, and where memory and time went.
//!
//! A model carries it, so that a report can be drawn long after the run.
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::engine::{Observer, Step, WeightsNow};

/// Remarks that are kept.
const MOST_REMARKS: usize = 32;

/// How a model came about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// What was typed, if it was a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What it was trained on.
    #[serde(default)]
    pub data: String,
    /// Seed of all random choices.
    #[serde(default)]
    pub seed: u64,
    /// The relative gap that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// The solver that found the weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solver: Option<String>,
    /// Some of the steps, in their order.
    #[serde(default)]
    pub steps: Vec<StepRecord>,
    /// What the run said, such as a change of solver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
    /// The groups of features with the largest norms, where the penalty has groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupRecord>,
    /// How many groups there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub groups_in_all: u64,
    /// Those whose weights are all 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub groups_without_weight: u64,
    /// Who held how many bytes when most were held.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Holding>,
    /// The budget, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_bytes: Option<u64>,
    /// The most that the process had resident.
    #[serde(default)]
    pub peak_bytes: u64,
    /// Seconds that reading and decoding blocks took beside the solver, on a thread of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_seconds: Option<[f64; 2]>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A group of features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupRecord {
    /// Some of its features.
    pub examples: Vec<String>,
    /// How many it has.
    pub features: u64,
    /// The norm of its weights.
    pub norm: f64,
}

/// A step of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Seconds since its beginning.
    pub seconds: f64,
    /// Passes over the data.
    pub passes: u64,
    /// Bytes read from the store.
    pub bytes_read: u64,
    /// F, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<f64>,
    /// The lower bound of F, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dual_objective: Option<f64>,
    /// The newest relative gap: certified, or as it was estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
    /// The score of test rows: accuracy, or the root of the mean squared error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<f64>,
}

/// Something that a run said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remark {
    /// Seconds since its beginning.
    pub seconds: f64,
    /// Passes over the data.
    pub passes: u64,
    /// Bytes read from the store.
    pub bytes_read: u64,
    /// A sentence.
    pub text: String,
}

/// Bytes that somebody held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holding {
    /// What for.
    pub purpose: String,
    /// How many.
    pub bytes: u64,
}

impl StepRecord {
    /// Steps that are kept: as many as a curve needs, and a few kilobytes in a model.
    pub const MOST: usize = 128;

    /// Leaves out steps until no more than `most` are there: always the one that is missed least where the axis of
    /// seconds is logarithmic, whose neighbours are closest. The first and the last stay, and those with a test score as
    /// long as others are left.
    pub fn thin(steps: &mut Vec<StepRecord>, most: usize) {
        while steps.len() > most.max(2) {
            let end = |i: usize| steps[i + 1].seconds.max(f64::MIN_POSITIVE);
            let width = |i: usize| (steps[i + 1].seconds - steps[i - 1].seconds) / end(i);
            let least = |among: &dyn Fn(usize) -> bool| {
                (1..steps.len() - 1).filter(|&i| among(i)).min_by(|&a, &b| width(a).total_cmp(&width(b)))
            };
            match least(&|i| steps[i].test.is_none()).or_else(|| least(&|_| true)) {
                Some(found) => _ = steps.remove(found),
                None => return,
            }
        }
    }

    fn of(step: &Step, test: Option<f64>) -> StepRecord {
        // A model file has no words for numbers that are not finite.
        let known = |number: Option<f64>| number.filter(|number| number.is_finite());
        let certified = step.certificate.map(|certificate| certificate.relative_gap());
        StepRecord {
            seconds: step.cost.seconds,
            passes: step.cost.passes,
            bytes_read: step.cost.bytes_read,
            objective: known(step.objective.or(step.certificate.map(|certificate| certificate.objective))),
            dual_objective: known(step.dual_objective),
            gap: known(step.gap_estimate.or(certified)),
            test: known(test),
        }
    }
}

/// Writes down what an observer sees.
pub struct Recorder<'a> {
    /// What came of it so far.
    pub record: RunRecord,
    observer: &'a mut dyn Observer,
    budget: &'a Budget,
    most_held: u64,
}

impl<'a> Recorder<'a> {
    /// Stands before `observer`.
    pub fn new(observer: &'a mut dyn Observer, budget: &'a Budget) -> Recorder<'a> {
        let budget_bytes = Some(budget.limit_bytes()).filter(|_| !budget.is_unlimited());
        Recorder { record: RunRecord { budget_bytes, ..RunRecord::default() }, observer, budget, most_held: 0 }
    }

    /// Memory is looked at when a step is told of: what a method holds, it holds at least from one to the next.
    fn look_at_memory(&mut self) {
        let held = self.budget.held_bytes();
        if held > self.most_held {
            self.most_held = held;
            let holdings = self.budget.holders().into_iter().filter(|(_, bytes)| *bytes > 0);
            self.record.held =
                holdings.map(|(purpose, bytes)| Holding { purpose: purpose.to_string(), bytes }).collect();
        }
    }
}

impl Observer for Recorder<'_> {
    fn step(&mut self, step: &Step, weights: &WeightsNow) {
        self.observer.step(step, weights);
        let step = StepRecord::of(step, self.observer.test_score());
        self.record.steps.push(step);
        StepRecord::thin(&mut self.record.steps, StepRecord::MOST);
        self.look_at_memory();
    }

    fn problem_solved(&mut self, objective: f64, weights: &[f64]) {
        self.observer.problem_solved(objective, weights);
    }

    fn note(&mut self, text: &str) {
        self.observer.note(text);
        if self.record.remarks.len() < MOST_REMARKS {
            let StepRecord { seconds, passes, bytes_read, .. } = self.record.steps.last().copied().unwrap_or_default();
            self.record.remarks.push(Remark { seconds, passes, bytes_read, text: text.to_string() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Cost;

    fn run(count: u64, test_every: u64) -> RunRecord {
        struct Scores(u64, u64);
        impl Observer for Scores {
            fn step(&mut self, _: &Step, _: &WeightsNow) {
                self.0 += 1;
            }
            fn test_score(&mut self) -> Option<f64> {
                self.0.is_multiple_of(self.1).then_some(self.0 as f64)
            }
        }
        let (budget, mut scores) = (Budget::new(1 << 20), Scores(0, test_every));
        let mut recorder = Recorder::new(&mut scores, &budget);
        for k in 1..=count {
            let _held = budget.reserve("rows", k.min(50)).unwrap();
            let cost = Cost { seconds: k as f64, passes: k, ..Cost::default() };
            let objective = if k == 2 { Some(f64::NAN) } else { Some(1.0 / k as f64) };
            let (dual_objective, gap_estimate, certificate) = (None, None, None);
            let step = Step { cost, dual_objective, objective, gap_estimate, certificate, violation: None };
            recorder.step(&step, &WeightsNow { models: &[] });
            if k == 70 {
                recorder.note("another solver");
            }
        }
        recorder.record
    }

    #[test]
    fn few_steps_are_all_kept() {
        let record = run(100, 1000);
        assert_eq!(record.steps.len(), 100);
        assert!(record.steps.iter().map(|step| step.passes).eq(1..=100));
        assert_eq!((record.steps[0].objective, record.steps[1].objective), (Some(1.0), None));
        let Remark { seconds, passes, ref text, .. } = record.remarks[0];
        assert_eq!((seconds, passes, &text[..]), (70.0, 70, "another solver"));
        assert_eq!(record.held, [Holding { purpose: "rows".into(), bytes: 50 }]);
        assert_eq!(record.budget_bytes, Some(1 << 20));
    }

    #[test]
    fn many_steps_are_thinned_evenly_on_a_logarithmic_axis() {
        let steps = run(10_000, 1000).steps;
        assert_eq!(steps.len(), StepRecord::MOST);
        assert_eq!((steps[0].passes, steps[StepRecord::MOST - 1].passes), (1, 10_000));
        assert!(steps.is_sorted_by(|a, b| a.seconds < b.seconds));
        // No part of the axis is empty: a step is at most a fifth after the one before, but where all are kept.
        for pair in steps.windows(2) {
            assert!(pair[1].seconds <= (pair[0].seconds * 1.2).max(pair[0].seconds + 1.0), "{pair:?}");
        }
        assert_eq!(steps.iter().filter(|step| step.test.is_some()).count(), 10);
    }

    #[test]
    fn it_comes_back_from_json() {
        let record = RunRecord { background_seconds: Some([0.5, 1.5]), ..run(3, 2) };
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<RunRecord>(&text).unwrap(), record);
    }
}
