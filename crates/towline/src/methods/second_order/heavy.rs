//! Which columns make the Hessian of a wide table badly conditioned.
//!
//! Most columns of a wide table are sparse, and their weights hardly depend on each other. A few are dense, or are
//! measured in large units, or both: each of them has a good part of the sum of all squares, once those before it are
//! left out. Their matrix is what conjugate gradients are preconditioned with.
use super::gram::{Chosen, Gram};
use super::rows::StoreRows;
use crate::engine::TrainError;

/// Columns that may be heavy, at most.
pub const MOST: u64 = 512;
/// Adding a row to the matrix of heavy columns may cost this many multiplications for each of its values: about as much
/// as some products with it. An iteration has more of those.
const COST_PER_VALUE: f64 = 150.0;

/// A column is heavy if it has this part of all squares, heavier ones left out.
const SHARE: f64 = 0.01;

/// The columns whose matrix is a part of the preconditioner.
pub struct Heavy {
    /// Which.
    pub columns: Chosen,
    /// How many values of a row are theirs, on average.
    pub len: f64,
    /// How many rows there are.
    pub rows: u64,
    /// The mean square of the values of each column that are not 0; 1 for the constant feature.
    pub mean_squares: Vec<f64>,
}

impl Heavy {
    /// Bytes of memory for this many columns.
    pub fn bytes(columns: u64) -> u64 {
        // Sums and counts, the order of columns and their places.
        20 * columns
    }

    /// None of this many columns: the preconditioner is a diagonal.
    pub fn none(columns: usize) -> Heavy {
        Heavy { columns: Chosen::new(columns, |_| false), len: 0.0, rows: 1, mean_squares: vec![1.0; columns + 1] }
    }

    /// The heaviest columns, `most` of them or as many as are worth it; one scan.
    pub fn of(rows: &mut StoreRows, most: u64) -> Result<Heavy, TrainError> {
        let shape = rows.store().shape();
        let size = shape.columns as usize;
        let (mut squares, mut counts) = (Vec::with_capacity(size + 1), vec![0u32; size]);
        squares.resize(size, 0.0);
        let scanning = rows.scanning.clone();
        let mut counted = scanning.rows();
        rows.blocks(|block, _| {
            for i in 0..block.rows() {
                counted.next()?;
                block.row(i).for_each(|j, x| {
                    squares[j as usize] += x * x;
                    counts[j as usize] = counts[j as usize].saturating_add(u32::from(x != 0.0));
                });
            }
            Ok(())
        })?;
        let of_rows = 1.0 / shape.rows.max(1) as f64;
        let worth = COST_PER_VALUE * (shape.values as f64 * of_rows + 1.0);
        let mut order: Vec<u32> = (0..shape.columns as u32).collect();
        let heavier = |a: &u32, b: &u32| squares[*b as usize].total_cmp(&squares[*a as usize]).then(a.cmp(b));
        let wanted = (most as usize).min(size);
        if wanted < size {
            order.select_nth_unstable_by(wanted, heavier);
            order.truncate(wanted);
        }
        order.sort_unstable_by(heavier);
        let (mut len, mut taken, mut rest) = (0.0, 0, squares.iter().sum::<f64>());
        for &j in order.iter().filter(|&&j| squares[j as usize] > 0.0) {
            let more = len + f64::from(counts[j as usize]) * of_rows;
            let square = squares[j as usize];
            if square < SHARE * rest || Gram::row_cost(taken as f64 + 2.0, more + 1.0) > worth {
                break;
            }
            (len, taken, rest) = (more, taken + 1, rest - square);
        }
        order.truncate(taken);
        order.sort_unstable();
        let columns = Chosen::new(size, |j| order.binary_search(&(j as u32)).is_ok());
        squares.iter_mut().zip(&counts).for_each(|(square, &count)| *square /= f64::from(count.max(1)));
        squares.push(1.0);
        Ok(Heavy { columns, len, rows: shape.rows, mean_squares: squares })
    }
}
