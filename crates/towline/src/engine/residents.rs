//! The rows that are in memory: one arena, shared by all models that train on them (SBM, section 5.1).
use std::sync::Arc;

use crate::block::{Block, Layout, Row};
use crate::store::Shape;

/// Resident rows.
pub struct Residents {
    /// The rows.
    pub block: Block,
    /// ‖x‖² of each row.
    pub sq_norms: Vec<f64>,
    /// Where each row lies in the store: rows of the blocks before its own, plus its number in the block.
    pub positions: Vec<u64>,
    /// The same values by column, if somebody has asked for them since the rows came.
    columns: Option<Arc<Block>>,
}

impl Residents {
    /// Bytes of a row besides its block.
    pub const ROW_BYTES: u64 = 16;

    /// All rows of a block that stays where it is; `columns` are their values, if they lie by column.
    pub fn over(block: &Block, columns: Option<&Arc<Block>>) -> Self {
        let sq_norms = (0..block.rows()).map(|i| block.row(i).sq_norm()).collect();
        let positions = (0..block.rows() as u64).collect();
        Residents { block: block.clone(), sq_norms, positions, columns: columns.cloned() }
    }

    /// No rows yet, in an arena that is empty.
    pub fn inside(block: Block) -> Self {
        Residents { block, sq_norms: Vec::new(), positions: Vec::new(), columns: None }
    }

    /// No rows yet, and room for `rows` rows and `values` values.
    pub fn with_capacity(shape: Shape, rows: usize, values: usize) -> Self {
        let block = Block::with_capacity(shape.layout, shape.columns as usize, rows, values);
        Residents { block, sq_norms: Vec::with_capacity(rows), positions: Vec::with_capacity(rows), columns: None }
    }

    /// Bytes of memory for so much.
    pub fn bytes(layout: Layout, rows: u64, values: u64) -> u64 {
        layout.resident_bytes(rows, values) + rows * Self::ROW_BYTES
    }

    /// Rows in memory.
    pub fn rows(&self) -> usize {
        self.positions.len()
    }

    /// Appends row `i` of `block`.
    pub fn push(&mut self, block: &Block, i: usize, position: u64) {
        self.columns = None;
        self.sq_norms.push(block.row(i).sq_norm());
        self.block.push_from(block, i);
        self.positions.push(position);
    }

    /// Lays the values out by column besides, if they are not. The caller has paid for it
    /// ([`Layout::transposed_bytes`]).
    pub fn turn(&mut self) {
        self.columns.get_or_insert_with(|| Arc::new(self.block.transposed()));
    }

    /// New rows come, and of those that are here the marked ones stay, behind the new ones: `rows` is the arena from
    /// now on, so that nothing but the rows that stay is copied. Leaves the old arena in its place, empty.
    pub fn change(&mut self, rows: &mut Block, keep: &[bool]) {
        let mut sq_norms: Vec<f64> = (0..rows.rows()).map(|i| rows.row(i).sq_norm()).collect();
        let mut positions: Vec<u64> = (0..rows.rows()).map(|i| rows.info(i).id).collect();
        for i in (0..keep.len()).filter(|&i| keep[i]) {
            rows.push_from(&self.block, i);
            sq_norms.push(self.sq_norms[i]);
            positions.push(self.positions[i]);
        }
        std::mem::swap(&mut self.block, rows);
        (self.sq_norms, self.positions) = (sq_norms, positions);
        rows.clear();
        self.columns = None;
    }

    /// Keeps the rows that are marked, moving them together.
    pub fn retain(&mut self, keep: &[bool]) {
        self.columns = None;
        self.block.retain(|i| keep[i]);
        retain(&mut self.sq_norms, keep);
        retain(&mut self.positions, keep);
    }
}

/// Keeps the items that are marked.
pub fn retain<T>(items: &mut Vec<T>, keep: &[bool]) {
    let mut marks = keep.iter();
    items.retain(|_| marks.next().is_some_and(|&kept| kept));
}

/// The resident rows that one model trains on, in its own numbers.
#[derive(Clone, Copy)]
pub struct View<'a> {
    block: &'a Block,
    columns: Option<&'a Block>,
    /// The number of each row among all residents; without it they are the same.
    numbers: Option<&'a [u32]>,
}

impl<'a> View<'a> {
    /// The rows with these numbers.
    pub fn new(residents: &'a Residents, numbers: &'a [u32]) -> Self {
        // All rows in their own order need no list.
        let is_list = numbers.len() < residents.rows() || numbers.iter().zip(0..).any(|(&number, i)| number != i);
        let numbers = is_list.then_some(numbers);
        View { block: &residents.block, columns: residents.columns.as_deref(), numbers }
    }

    /// Rows of a block with these numbers.
    pub fn of(block: &'a Block, numbers: &'a [u32]) -> Self {
        View { block, columns: None, numbers: Some(numbers) }
    }

    /// All residents by column.
    ///
    /// # Panics
    /// If they have not been laid out by column ([`Residents::turn`]).
    pub fn columns(&self) -> &'a Block {
        self.columns.expect("residents were laid out by column")
    }

    /// The number of row `i` of the model among all residents.
    #[inline(always)]
    pub fn number(&self, i: usize) -> usize {
        match self.numbers {
            None => i,
            Some(numbers) => numbers[i] as usize,
        }
    }

    /// Row `i` of the model.
    #[inline(always)]
    pub fn row(&self, i: usize) -> Row<'a> {
        self.block.row(self.number(i))
    }

    /// Brings row `i` closer to the processor.
    #[inline(always)]
    pub fn prefetch(&self, i: usize) {
        self.block.prefetch(self.number(i));
    }
}
