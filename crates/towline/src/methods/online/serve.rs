//! The learner's side of the pipeline: a thread that takes work and answers.
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender};

use super::StreamClasses;
use super::learner::{LearntWeights, StreamLearner};
use super::report::Progressive;
use crate::block::Block;
use crate::budget::BudgetError;

/// What the learner is asked to do.
pub enum Work {
    /// Learn from these rows.
    Learn { rows: Box<Block>, columns: usize, classes: Option<Box<StreamClasses>> },
    /// Tell the weights.
    Weights,
    /// Let go of all rows: there will be no more.
    End,
}

/// What it answers: to rows first with room for the next ones, then with their outcomes.
pub enum Answer {
    /// A block to fill while it works.
    Room(Box<Block>),
    /// The rows have been learnt.
    Learnt { progressive: Progressive, seconds: f64 },
    /// The weights, as the learner has them.
    Weights(LearntWeights),
    /// The rows are gone.
    Ended,
    /// The budget has no room for them.
    Refused(BudgetError),
}

/// Works until nobody asks any more.
pub fn serve(learner: &mut dyn StreamLearner, progressive: bool, asked: &Receiver<Work>, answers: &Sender<Answer>) {
    for work in asked {
        let answer = match work {
            Work::Weights => Answer::Weights(learner.weights()),
            Work::End => {
                learner.end();
                Answer::Ended
            }
            Work::Learn { mut rows, columns, classes } => {
                let begin = Instant::now();
                let grown =
                    learner.grow(columns).and_then(|()| classes.map_or(Ok(()), |classes| learner.know(&classes)));
                match grown {
                    Err(refused) => Answer::Refused(refused),
                    Ok(()) => {
                        let found = if progressive { score(learner, &rows) } else { Progressive::default() };
                        learner.take(&mut rows);
                        if answers.send(Answer::Room(rows)).is_err() {
                            return;
                        }
                        learner.learn();
                        Answer::Learnt { progressive: found, seconds: begin.elapsed().as_secs_f64() }
                    }
                }
            }
        };
        if answers.send(answer).is_err() {
            return;
        }
    }
}

/// How well rows are predicted before they are learnt.
fn score(learner: &dyn StreamLearner, rows: &Block) -> Progressive {
    let (mut found, mut predicted) = (Progressive::default(), Vec::new());
    learner.predict(rows, &mut predicted);
    for (&label, &predicted) in rows.labels().iter().zip(&predicted) {
        found.rows += 1;
        found.right += u64::from(label == predicted);
        found.squared += (label - predicted) * (label - predicted);
    }
    found
}
