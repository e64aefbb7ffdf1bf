//! Which rows matter now: best bin first over the nodes of all trees (IBCD, sections 3.2, 4.1 and 4.3).
//!
//! A bin is the cell of a pivot. Its distance from the query is how far the query is from the boundary between it and
//! the cell of the nearest pivot, and never less than that of the cell that it is a part of. Bins that certainly hold
//! nothing are left out.
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::bounds;
use super::cache::PageCache;
use super::forest::Forest;
use super::nodes::NO_NODE;
use crate::bits::RowBits;
use crate::block::{Block, RowInfo};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::store::StoreError;

/// What a question has to know of an objective.
pub trait RowTargets: std::fmt::Debug {
    /// The value of the constant feature.
    fn bias(&self) -> f64;

    /// The target of a row, and what it weighs.
    fn of_row(&self, info: &RowInfo) -> (f64, f64);
}

/// What is asked: rows with `threshold ≤ y wᵗ·x` and `y w·x < 1`, condition (10).
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// w, the constant feature last.
    pub weights: &'a [f64],
    /// wᵗ, which tells outliers.
    pub reference: &'a [f64],
    /// Targets, weights of rows and the constant feature.
    pub objective: &'a dyn RowTargets,
    /// The margin at which the loss reaches its ceiling; minus infinity if it has none.
    pub threshold: f64,
    /// How many rows are enough: n.
    pub wanted: u64,
    /// Rows with a margin of more than 1 and this are not looked at again until [`Search::recover`]: T of section 4.3.
    pub far: f64,
    /// End when rows are found at a lower rate than n/|D| (section 3.1), judged by a sample.
    pub sampled: bool,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Rows found, at most n.
    pub found: u64,
    /// Rows looked at: n_e.
    pub looked: u64,
    /// Whether nothing is left that could satisfy (10), of what has not been set aside.
    pub exhausted: bool,
}

/// So many rows must be expected at the rate n/|D| before a sample says that there are fewer.
const SAMPLE: f64 = 10.0;

/// Searches an index, and remembers what need not be looked at again.
pub struct Search {
    forest: Arc<Forest>,
    /// A bit per row: active, an outlier, or far from mattering.
    settled: RowBits,
    /// Rows below each node that are not settled.
    left: Vec<u32>,
    bins: BinaryHeap<Reverse<Bin>>,
    /// A pivot as a dense vector, zeros between uses.
    dense: Vec<f64>,
    distances: Vec<(f64, f64, f64)>,
    random: Xoshiro256PlusPlus,
    _paid: Reservation,
}

/// A node that waits.
struct Bin {
    distance: f64,
    /// Breaks ties at random: trees are gone through in random order.
    tie: u32,
    node: u32,
}

impl Search {
    /// Nothing is settled.
    pub fn new(forest: Arc<Forest>, seed: u64, budget: &Budget) -> Result<Self, BudgetError> {
        let nodes = forest.nodes().len();
        let needed = Search::needed_bytes(nodes as u64, forest.columns() as u64, forest.rows());
        let paid = budget.reserve("search of the index", needed)?;
        let mut search = Search {
            settled: RowBits::new(forest.rows()),
            left: vec![0; nodes],
            bins: BinaryHeap::with_capacity(nodes),
            dense: vec![0.0; forest.columns()],
            distances: Vec::new(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            forest,
            _paid: paid,
        };
        search.recover(None);
        Ok(search)
    }

    /// Bytes that a search takes of an index with so many nodes, for rows with so many columns.
    pub fn needed_bytes(nodes: u64, columns: u64, rows: u64) -> u64 {
        nodes * (4 + 2 * size_of::<Bin>() as u64) + 8 * columns + RowBits::bytes(rows)
    }

    /// Everything matters again but the rows in `active`.
    pub fn recover(&mut self, active: Option<&RowBits>) {
        match active {
            Some(active) => self.settled.copy_from(active),
            None => self.settled.clear(),
        }
        self.left.iter_mut().zip(self.forest.nodes()).for_each(|(left, node)| *left = node.below);
    }

    /// A row has become active elsewhere.
    pub fn settle(&mut self, position: u64) {
        self.settled.set(position, true);
    }

    /// Looks for rows; `found` is told the page and the number of each one in it, and says whether there is room for
    /// more. They are settled then. Asks `goes_on` before each page.
    pub fn ask(
        &mut self,
        question: &Question,
        pages: &mut PageCache,
        goes_on: impl Fn() -> bool,
        mut found: impl FnMut(&Block, usize) -> bool,
    ) -> Result<Answer, StoreError> {
        let mut answer = Answer::default();
        let rate = question.wanted as f64 / self.forest.rows().max(1) as f64;
        let lengths = [length(question.weights), length(question.reference)];
        self.bins.clear();
        for &node in self.forest.roots() {
            let tie = self.random.next_u32();
            self.bins.push(Reverse(Bin { distance: 0.0, tie, node }));
        }
        while let Some(Reverse(bin)) = self.bins.pop() {
            if self.left[bin.node as usize] == 0 {
                continue;
            }
            if !goes_on() {
                return Ok(answer);
            }
            let page = pages.page(bin.node)?;
            if !self.forest.nodes()[bin.node as usize].is_leaf() {
                self.expand(&bin, &page, question, lengths);
                continue;
            }
            let goes_on = self.visit(bin.node, &page, question, &mut answer, &mut found);
            let is_rare = question.sampled
                && answer.looked as f64 * rate >= SAMPLE
                && (answer.found as f64) < rate * answer.looked as f64;
            if !goes_on || is_rare {
                return Ok(answer);
            }
        }
        answer.exhausted = true;
        Ok(answer)
    }

    /// Looks at the rows of a leaf; whether to go on.
    fn visit(
        &mut self,
        leaf: u32,
        page: &Block,
        question: &Question,
        answer: &mut Answer,
        found: &mut impl FnMut(&Block, usize) -> bool,
    ) -> bool {
        let bias = question.objective.bias();
        let margin = |row: usize, w: &[f64]| page.row(row).dot(w) + bias * w[w.len() - 1];
        let mut goes_on = true;
        for (i, &position) in page.ids().iter().enumerate() {
            if !goes_on {
                break;
            }
            if self.settled.get(position) {
                continue;
            }
            let (y, c) = question.objective.of_row(&page.info(i));
            answer.looked += 1;
            let is_in = c > 0.0 && y * margin(i, question.reference) >= question.threshold;
            let z = if is_in { y * margin(i, question.weights) } else { f64::INFINITY };
            if z < 1.0 {
                answer.found += 1;
                goes_on = found(page, i) && answer.found < question.wanted;
            }
            if !(1.0..=1.0 + question.far).contains(&z) {
                self.settle(position);
            }
        }
        let left = page.ids().iter().filter(|&&position| !self.settled.get(position)).count() as u32;
        self.count_down(leaf, self.left[leaf as usize].saturating_sub(left));
        goes_on
    }

    /// Fewer rows are left in a leaf, and in everything above it.
    fn count_down(&mut self, leaf: u32, rows: u32) {
        let mut node = leaf;
        while node != NO_NODE && rows > 0 {
            self.left[node as usize] = self.left[node as usize].saturating_sub(rows);
            node = self.forest.nodes()[node as usize].parent;
        }
    }

    /// Puts the children of a node among the bins.
    fn expand(&mut self, bin: &Bin, pivots: &Block, question: &Question, lengths: [f64; 2]) {
        let node = self.forest.nodes()[bin.node as usize];
        let constant = |w: &[f64]| question.objective.bias() * w[w.len() - 1];
        self.distances.clear();
        for k in 0..pivots.rows() {
            let pivot = pivots.row(k);
            let (dot, length) = (pivot.dot(question.weights), pivot.sq_norm().sqrt());
            // The constant feature moves the hyperplane away from the origin: what counts is where the pivot itself
            // lies.
            let cosine = (dot + constant(question.weights)) / (lengths[0] * length).max(f64::MIN_POSITIVE);
            self.distances.push((cosine * cosine, dot, length));
        }
        let nearest =
            (0..pivots.rows()).min_by(|&a, &b| self.distances[a].0.total_cmp(&self.distances[b].0)).unwrap_or(0);
        let (least, _, nearest_length) = self.distances[nearest];
        pivots.row(nearest).add_to(&mut self.dense, 1.0);
        for (k, child) in node.children().enumerate() {
            if self.left[child as usize] == 0 {
                continue;
            }
            let (square, dot, length) = self.distances[k];
            let shift = |(low, high): (f64, f64), by: f64| (low + by, high + by);
            let below = &self.forest.nodes()[child as usize];
            let now = bounds::margins(below, dot, length, lengths[0]);
            let then = bounds::margins(below, pivots.row(k).dot(question.reference), length, lengths[1]);
            let (now, then) = (shift(now, constant(question.weights)), shift(then, constant(question.reference)));
            if !bounds::may_matter(now, then, question.threshold) {
                continue;
            }
            let cosine = pivots.row(k).dot(&self.dense) / (length * nearest_length).max(f64::MIN_POSITIVE);
            let apart = (2.0 - 2.0 * cosine * cosine).max(0.0).sqrt();
            let distance = if apart > 1e-9 { (square - least) / apart } else { 0.0 };
            let tie = self.random.next_u32();
            self.bins.push(Reverse(Bin { distance: distance.max(bin.distance), tie, node: child }));
        }
        pivots.row(nearest).add_to(&mut self.dense, -1.0);
    }
}

/// The length of weights without that of the constant feature.
fn length(w: &[f64]) -> f64 {
    w[..w.len() - 1].iter().map(|w| w * w).sum::<f64>().sqrt()
}

impl Ord for Bin {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance.total_cmp(&other.distance).then(self.tie.cmp(&other.tie))
    }
}

impl PartialOrd for Bin {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Bin {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Bin {}
