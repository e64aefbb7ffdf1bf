//! A problem and the resident rows that it works on: what training over a store and over a stream have in common.
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::Selection;
use super::problem::Problem;
use crate::block::RowInfo;
use crate::order::{Order, OrderName};
use crate::residents::{self, Residents, View};
use crate::solver::Sweep;

/// A problem, its resident rows, and the order in which it visits them.
pub struct ProblemRows<P: Problem + ?Sized> {
    pub problem: Box<P>,
    /// The numbers of its rows among all residents, ascending.
    pub numbers: Vec<u32>,
    pub order: Box<dyn Order>,
    random: Xoshiro256PlusPlus,
    /// What its rows are worth, for the choice of those that stay.
    scores: Vec<(f64, u32)>,
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
        self.problem.see();
    }

    /// Visits the rows as the order says.
    pub fn sweep(&mut self, residents: &Residents) -> Sweep {
        self.order.begin_sweep(self.problem.rows(), &mut self.random);
        let rows = View::new(residents, &self.numbers);
        self.problem.sweep(rows, &mut *self.order)
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
        scores.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
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
        residents::retain(&mut self.numbers, &own);
        self.numbers.iter_mut().for_each(|number| *number = numbers[*number as usize]);
    }
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
