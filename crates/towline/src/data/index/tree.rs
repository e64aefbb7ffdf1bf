//! One tree: rows go to the nearest of K pivots, again and again, until they fit into a leaf (IBCD, section 4.1).
//!
//! Near means a small angle between V(x) and V(p), a large `(x̂·p̂)²`. Pivots are rows drawn at random: as good as any
//! rule that looks at all rows first, since the cells are cut again on the next level, and a draw costs nothing. Cells
//! with few rows are given up and their rows go elsewhere.
use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::nodes::{NO_NODE, Node};
use super::pages::PageWriter;
use crate::base::random::below;
use crate::block::{Block, Row};
use crate::store::StoreError;

/// A leaf takes at most about this many bytes in memory: large enough for one read.
pub const LEAF_BYTES: u64 = 96 << 10;
/// Rows of a leaf, about, where they take fewer bytes than that: few enough that most of a visit is about rows that
/// matter.
pub const LEAF_ROWS: u64 = 256;
/// A cell with less than this part of the mean is given up.
const SMALL_CELL: usize = 8;
/// Rows at a smaller angle than this are the same for a pivot: a square of cosines above it.
const SAME: f64 = 1.0 - 1e-9;
/// Draws per pivot before it is believed that there are no others.
const DRAWS: usize = 4;

/// Grows trees, one after the other.
pub struct TreeGrower {
    fan_out: usize,
    leaf_bytes: u64,
    /// Unit vectors to the pivots at hand, dense.
    pivots: Vec<Vec<f64>>,
    lengths: Vec<f64>,
    page: Block,
    random: Xoshiro256PlusPlus,
}

/// Rows of a node on their way down.
struct Cell {
    rows: Vec<u32>,
    /// The row that is its pivot, and the least cosine to it.
    pivot: u32,
    least_cosine: f64,
}

/// Where a row goes.
#[derive(Clone, Copy)]
struct Place {
    pivot: usize,
    cosine: f64,
}

impl TreeGrower {
    /// Memory for pivots of so many columns, and for each row of a tree.
    pub fn bytes(fan_out: u64, columns: u64, rows: u64) -> u64 {
        fan_out * 8 * columns + rows * (8 + 4 * 2 + size_of::<Place>() as u64)
    }

    /// For rows like those of `like`.
    pub fn new((fan_out, leaf_bytes): (usize, u64), like: &Block, random: Xoshiro256PlusPlus) -> Self {
        let pivots = vec![vec![0.0; like.columns()]; fan_out];
        let page = Block::new(like.layout(), like.columns());
        TreeGrower { fan_out, leaf_bytes, pivots, lengths: Vec::new(), page, random }
    }

    /// Writes a tree of all rows of `rows`, whose ids are their positions in the store.
    pub fn grow(&mut self, rows: &Block, out: &mut PageWriter) -> Result<(), StoreError> {
        self.lengths.clear();
        self.lengths.extend((0..rows.rows()).map(|i| rows.row(i).sq_norm().sqrt()));
        let all: Vec<u32> = (0..rows.rows() as u32).collect();
        let root = out.add(self.node(&all, NO_NODE, -1.0))?;
        let mut waiting = VecDeque::from([(root, all)]);
        // First come, first served: pages are written in the order of the nodes.
        while let Some((number, members)) = waiting.pop_front() {
            self.page.clear();
            let cells = self.split(rows, &members);
            if cells.is_empty() {
                members.iter().for_each(|&row| self.page.push_from(rows, row as usize));
            } else {
                cells.iter().for_each(|cell| self.page.push_from(rows, cell.pivot as usize));
                out.node(number).first_child = out.next();
            }
            out.write(number, &self.page)?;
            for cell in cells {
                let child = out.add(self.node(&cell.rows, number, cell.least_cosine))?;
                waiting.push_back((child, cell.rows));
            }
        }
        out.end_tree()
    }

    fn node(&self, rows: &[u32], parent: u32, least_cosine: f64) -> Node {
        let lengths = rows.iter().map(|&row| self.lengths[row as usize]);
        let (least, largest) = lengths.fold((f64::INFINITY, 0.0f64), |(a, b), length| (a.min(length), b.max(length)));
        Node {
            offset: 0,
            bytes: 0,
            rows: 0,
            values: 0,
            below: rows.len() as u32,
            first_child: 0,
            parent,
            // A little wider than they are: the bounds must hold in spite of rounding.
            least_cosine: (least_cosine as f32 - 1e-6).max(-1.0),
            least_length: (least as f32) * (1.0 - 1e-6),
            largest_length: (largest as f32) * (1.0 + 1e-6),
        }
    }

    /// The cells of a node, or none if its rows are a leaf.
    fn split(&mut self, rows: &Block, members: &[u32]) -> Vec<Cell> {
        let values: u64 = members.iter().map(|&row| rows.row_len(row as usize) as u64).sum();
        let leaves = rows.layout().resident_bytes(members.len() as u64, values).div_ceil(self.leaf_bytes) as usize;
        let wanted = leaves.min(self.fan_out).min(members.len());
        if wanted < 2 {
            return Vec::new();
        }
        let mut chosen = self.choose_pivots(rows, members, wanted);
        let mut places = self.assign(rows, members, chosen.len());
        let mut counts = vec![0usize; chosen.len()];
        places.iter().for_each(|place| counts[place.pivot] += 1);
        let least = (members.len() / chosen.len() / SMALL_CELL).max(1);
        if counts.iter().any(|&count| count < least) {
            let mut kept = 0;
            for (k, &count) in counts.iter().enumerate() {
                if count >= least {
                    self.pivots.swap(kept, k);
                    chosen.swap(kept, k);
                    kept += 1;
                }
            }
            chosen.truncate(kept);
            places = self.assign(rows, members, kept);
        }
        let mut cells: Vec<Cell> =
            chosen.iter().map(|&pivot| Cell { rows: Vec::new(), pivot, least_cosine: 1.0 }).collect();
        for (&row, place) in members.iter().zip(&places) {
            let cell = &mut cells[place.pivot];
            cell.rows.push(row);
            cell.least_cosine = cell.least_cosine.min(place.cosine);
        }
        cells.retain(|cell| !cell.rows.is_empty());
        if cells.len() < 2 { self.chunks(rows, members, wanted) } else { cells }
    }

    /// Rows that no pivot tells apart, in parts of the same size.
    fn chunks(&mut self, rows: &Block, members: &[u32], wanted: usize) -> Vec<Cell> {
        let parts = members.chunks(members.len().div_ceil(wanted));
        let mut cells = Vec::with_capacity(wanted);
        for part in parts {
            self.set_pivot(0, rows.row(part[0] as usize), self.lengths[part[0] as usize]);
            let places = self.assign(rows, part, 1);
            let least_cosine = places.iter().fold(1.0f64, |least, place| least.min(place.cosine));
            cells.push(Cell { rows: part.to_vec(), pivot: part[0], least_cosine });
        }
        cells
    }

    /// Draws at most `wanted` rows that differ, at least one.
    fn choose_pivots(&mut self, rows: &Block, members: &[u32], wanted: usize) -> Vec<u32> {
        let mut chosen: Vec<u32> = Vec::with_capacity(wanted);
        for _ in 0..DRAWS * wanted {
            let row = members[below(&mut self.random, members.len() as u64) as usize];
            let (x, length) = (rows.row(row as usize), self.lengths[row as usize]);
            let is_new = |pivot: &Vec<f64>| x.dot(pivot).powi(2) <= SAME * length * length;
            if self.pivots[..chosen.len()].iter().all(is_new) || chosen.is_empty() {
                self.set_pivot(chosen.len(), x, length);
                chosen.push(row);
            }
            if chosen.len() == wanted {
                break;
            }
        }
        chosen
    }

    fn set_pivot(&mut self, number: usize, row: Row, length: f64) {
        let pivot = &mut self.pivots[number];
        pivot.fill(0.0);
        if length > 0.0 {
            row.add_to(pivot, 1.0 / length);
        }
    }

    /// The nearest of the first `count` pivots for each row.
    fn assign(&self, rows: &Block, members: &[u32], count: usize) -> Vec<Place> {
        let nearest = |&row: &u32| {
            let x = rows.row(row as usize);
            let mut best = Place { pivot: 0, cosine: 0.0 };
            for (k, pivot) in self.pivots[..count].iter().enumerate() {
                let dot = x.dot(pivot);
                if dot * dot > best.cosine * best.cosine {
                    best = Place { pivot: k, cosine: dot };
                }
            }
            // An empty row has no direction, and its margin is 0 whatever is said of it.
            let length = self.lengths[row as usize];
            best.cosine = if length > 0.0 { (best.cosine / length).clamp(-1.0, 1.0) } else { 1.0 };
            best
        };
        members.par_iter().map(nearest).collect()
    }
}
