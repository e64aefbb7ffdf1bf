//! A problem and the resident rows that it works on: what training over a store and over a stream have in common.
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::block::RowInfo;
use crate::engine::limits::Watch;
use crate::engine::problem::Problem;
use crate::engine::{Selection, Until};
use crate::order::{NewestFirst, Noting, Order, OrderName};
use crate::residents::{self, Residents, View};
use crate::solver::Sweep;

/// A problem, its resident rows, and the order in which it visits them.
pub struct ProblemRows<P: Problem + ?Sized> {
    pub problem: Box<P>,
    /// The numbers of its rows among all residents.
    pub numbers: Vec<u32>,
    pub order: Box<dyn Order>,
    random: Xoshiro256PlusPlus,
    /// What its rows are worth, for the choice of those that stay.
    scores: Vec<(f64, u32)>,
    /// What the last visit of each row said of that, where visits are noted.
    noted: Vec<f32>,
}

impl<P: Problem + ?Sized> ProblemRows<P> {
    /// No rows yet.
    pub fn new(problem: Box<P>, order: OrderName, seed: u64) -> Self {
        ProblemRows {
            problem,
            numbers: Vec::new(),
            order: order.make(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            scores: Vec::new(),
            noted: Vec::new(),
        }
    }

    /// Takes a resident that it wants.
    pub fn push(&mut self, residents: &Residents, number: u32, info: &RowInfo, duals: &[f64]) {
        let further = residents.block.further(number as usize);
        self.problem.push(info, further, residents.sq_norms[number as usize], duals);
        self.numbers.push(number);
    }

    /// Forgets its rows.
    pub fn clear(&mut self, order: OrderName) {
        self.problem.clear();
        (self.numbers, self.order) = (Vec::new(), order.make());
    }

    /// New rows have come.
    pub fn begin_step(&mut self) {
        self.order.resize(self.problem.rows());
        self.order.begin_step();
        self.problem.observe_rows();
    }

    /// Visits the rows as the order says, until `watch` says that it is enough. Visits say their gradients if that is
    /// wanted.
    pub fn sweep(&mut self, residents: &Residents, watch: &Watch, wants_gradients: bool) -> Sweep {
        self.order.begin_sweep(self.problem.rows(), &mut self.random);
        let rows = View::new(residents, &self.numbers);
        let pace = watch.pace(self.work_of_a_row(residents));
        self.problem.sweep(rows, &mut Until { order: &mut *self.order, pace, wants_gradients })
    }

    /// Multiplications that a row takes, about.
    pub fn work_of_a_row(&self, residents: &Residents) -> u64 {
        let values = residents.block.values() / residents.rows().max(1) + 1;
        (values * self.problem.width()) as u64
    }

    /// The same as [`sweep`](Self::sweep), noting what each row is worth. The first sweep of a step visits every row
    /// once, those from `newest` on first.
    pub fn sweep_noting(&mut self, residents: &Residents, newest: Option<usize>) -> Sweep {
        let rows = self.problem.rows();
        self.noted.resize(rows, 0.0);
        self.order.begin_sweep(rows, &mut self.random);
        let view = View::new(residents, &self.numbers);
        match newest {
            None => self.problem.sweep(view, &mut Noting { order: &mut *self.order, worth: &mut self.noted }),
            Some(newest) => {
                let order = &mut NewestFirst::new(&mut *self.order, rows, newest, &mut self.random);
                self.problem.sweep(view, &mut Noting { order, worth: &mut self.noted })
            }
        }
    }

    /// Takes what visits have noted as what rows are worth: it costs no product a row.
    pub fn score_as_noted(&mut self) {
        let ProblemRows { numbers, scores, noted, .. } = self;
        scores.clear();
        scores.extend(noted.iter().zip(numbers.iter()).map(|(&worth, &number)| (f64::from(worth), number)));
        scores.sort_unstable_by(best_first);
    }

    /// Looks which rows are worth keeping.
    pub fn score(&mut self, residents: &Residents, selection: Selection) {
        let ProblemRows { problem, numbers, scores, random, .. } = self;
        let rows = View::new(residents, numbers);
        scores.clear();
        scores.extend(numbers.iter().enumerate().map(|(i, &number)| match selection {
            Selection::Random => ((random.next_u64() >> 11) as f64, number),
            selection => (problem.score(selection, rows.row(i), i), number),
        }));
        scores.sort_unstable_by(best_first);
    }

    /// Lowers the best rank of each row to the one that it has here.
    pub fn rank(&self, best: &mut [u32]) {
        for (rank, &(_, number)) in self.scores.iter().enumerate() {
            best[number as usize] = best[number as usize].min(rank as u32);
        }
    }

    /// Just the residents that are marked stay; `numbers` are their new numbers.
    pub fn retain(&mut self, keep: &[bool], numbers: &[u32]) {
        let own: Vec<bool> = self.numbers.iter().map(|&number| keep[number as usize]).collect();
        self.problem.retain(&own);
        self.order.retain(&mut |i| own[i]);
        if !self.noted.is_empty() {
            residents::retain(&mut self.noted, &own);
        }
        residents::retain(&mut self.numbers, &own);
        self.numbers.iter_mut().for_each(|number| *number = numbers[*number as usize]);
    }
}

/// Rows by what they are worth; among equals as they came.
fn best_first(a: &(f64, u32), b: &(f64, u32)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

/// The new number of each resident that stays.
pub fn renumber(keep: &[bool]) -> Vec<u32> {
    let mut kept = 0;
    let next = |&stays: &bool| {
        kept += u32::from(stays);
        kept - u32::from(stays)
    };
    keep.iter().map(next).collect()
}
