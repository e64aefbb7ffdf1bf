//! Fewer rows than features: the same problem with as many features as rows.
//!
//! With the penalty ½λ‖w‖² the optimum is a sum of rows, `λw = Σ βx`, and all that the problem knows of the data is
//! XXᵀ. Any other rows with the same products will do: those of its Cholesky factor L, `XXᵀ = LLᵀ`, which have n
//! features instead of d. One matrix serves every loss, C, fold, class and target. With the squared loss dual variables
//! are the solution of equations with XXᵀ itself.
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, MatMut, MatRef, Par};

use super::factor::Factor;
use super::gram::Gram;
use crate::block::{Block, Layout, ValueKind};
use crate::engine::{TrainError, Watch};
use crate::loss::AnyLoss;
use crate::objective::Objective;

/// Columns that are multiplied at a time: the matrix of products, which does not stay near the processor, is gone over
/// once for all of them.
const PANEL: usize = 512;
/// Rows with fewer values than this part of the columns are multiplied one by one.
const DENSE_PART: f64 = 0.05;

/// Bytes of memory for this many rows, besides them.
pub fn bytes(rows: u64) -> u64 {
    // XXᵀ, its factor, and the new rows.
    Gram::bytes(rows) + Factor::bytes(rows) + 8 * rows * (rows + PANEL as u64) + 64 * rows
}

/// What is known of all rows but their values.
pub enum Reduced {
    /// Rows with the same products.
    Rows(Block),
    /// XXᵀ.
    Products(Gram),
}

impl Reduced {
    /// XXᵀ for the squared loss of one output, else rows with the same products.
    pub fn new(rows: &Block, objective: &Objective, watch: &Watch) -> Result<Reduced, TrainError> {
        match objective.loss {
            AnyLoss::Squared(_) if objective.width() == 1 => Ok(Reduced::Products(products(rows, watch)?)),
            _ => Ok(Reduced::Rows(reduce(rows, watch)?)),
        }
    }

    /// Rows with the same products, if there are any.
    pub fn rows(&self) -> Option<&Block> {
        match self {
            Reduced::Rows(rows) => Some(rows),
            Reduced::Products(_) => None,
        }
    }
}

/// Dual variables of the squared loss for rows by number, with target and weight, and what an intercept of feature
/// `bias` adds to all margins:
///
/// ```text
/// β = c(y - z),    λz = XXᵀβ + b² Σβ    or, with an intercept that is free,    z = XXᵀβ/λ + t,  Σβ = 0
/// ```
/// so `(XXᵀ + diag(λ/c)) β = λ(y - t)`, with t = b² Σβ/λ or such that Σβ = 0 (Saunders, Gammerman and Vovk 1998).
pub fn ridge(
    products: &Gram,
    rows: &[(u32, f64, f64)],
    (lambda, bias, intercept): (f64, f64, bool),
    watch: &Watch,
) -> Result<(Vec<f64>, f64), TrainError> {
    let count = rows.len();
    let some = (count < products.size()).then(|| {
        let mut some = Gram::new(count, 0.0);
        for i in 0..count {
            let line = &mut some.lower_mut()[i * count..][..=i];
            line.iter_mut().zip(rows).for_each(|(to, row)| *to = products.at(rows[i].0 as usize, row.0 as usize));
        }
        some
    });
    let products = some.as_ref().unwrap_or(products);
    let diagonal: Vec<f64> = rows.iter().map(|(_, _, c)| lambda / c).collect();
    let mut factor = Factor::new(count);
    factor.find(products, &diagonal, Some(watch))?;
    let mut duals: Vec<f64> = rows.iter().map(|(_, y, _)| lambda * y).collect();
    let mut ones = vec![1.0; count];
    factor.solve(products, &diagonal, &mut duals);
    factor.solve(products, &diagonal, &mut ones);
    let (sum, of_ones) = (duals.iter().sum::<f64>(), ones.iter().sum::<f64>());
    let t = match intercept {
        true => sum / (lambda * of_ones),
        false => bias * bias * sum / (lambda * (1.0 + bias * bias * of_ones)),
    };
    duals.iter_mut().zip(&ones).for_each(|(beta, one)| *beta -= lambda * t * one);
    Ok((duals, t))
}

/// Rows whose products are those of `rows`, and what they are the rows of.
fn reduce(rows: &Block, watch: &Watch) -> Result<Block, TrainError> {
    let count = rows.rows();
    let products = products(rows, watch)?;
    let mut factor = Factor::new(count);
    factor.find(&products, &vec![0.0; count], Some(watch))?;
    let mut reduced = Block::with_capacity(Layout::new(true, ValueKind::F64), count, count, count * count);
    for i in 0..count {
        let line = factor.unscaled(i, products.at(i, i).sqrt());
        reduced.push(rows.info(i), line.enumerate().map(|(j, x)| (j as u32, x)));
    }
    Ok(reduced)
}

/// XXᵀ.
fn products(rows: &Block, watch: &Watch) -> Result<Gram, TrainError> {
    let (count, columns) = (rows.rows(), rows.columns());
    let mut products = Gram::new(count, 0.0);
    if (rows.values() as f64) < DENSE_PART * count as f64 * columns as f64 {
        let mut dense = vec![0.0; columns];
        for i in 0..count {
            watch.check()?;
            rows.row(i).add_to(&mut dense, 1.0);
            for j in 0..=i {
                products.lower_mut()[i * count + j] = rows.row(j).dot(&dense);
            }
            rows.row(i).for_each(|j, _| dense[j as usize] = 0.0);
        }
        return Ok(products);
    }
    let mut panel = vec![0.0; count * PANEL];
    let mut begins = vec![0; count];
    for first in (0..columns).step_by(PANEL) {
        watch.check()?;
        let width = PANEL.min(columns - first);
        panel.fill(0.0);
        for (i, begin) in begins.iter_mut().enumerate() {
            *begin = rows.row(i).scatter(*begin, first, &mut panel[i * PANEL..][..width]);
        }
        let part = MatRef::from_row_major_slice(&panel, count, PANEL);
        matmul(
            MatMut::from_row_major_slice_mut(products.lower_mut(), count, count),
            BlockStructure::TriangularLower,
            Accum::Add,
            part,
            BlockStructure::Rectangular,
            part.transpose(),
            BlockStructure::Rectangular,
            1.0,
            Par::Seq,
        );
    }
    Ok(products)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::RowInfo;
    use crate::stop::Stop;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn products_stay(values in proptest::collection::vec(proptest::collection::vec(-2.0..2.0f64, 700), 2..9), sparse in any::<bool>()) {
            let layout = if sparse { Layout::SPARSE_F32 } else { Layout::new(true, ValueKind::F64) };
            let mut rows = Block::new(layout, 700);
            for (i, row) in values.iter().enumerate() {
                let all = row.iter().enumerate().map(|(j, &x)| (j as u32, f64::from(x as f32)));
                let some: Vec<(u32, f64)> = all.filter(|(j, _)| !sparse || j % 40 == i as u32).collect();
                rows.push(RowInfo { label: i as f64, weight: 1.0, group: 0, id: i as u64 }, some);
            }
            let reduced = reduce(&rows, &Watch::new(&Stop::default(), None)).unwrap();
            for i in 0..rows.rows() {
                let mut dense = vec![0.0; 700];
                rows.row(i).add_to(&mut dense, 1.0);
                let mut other = vec![0.0; rows.rows()];
                reduced.row(i).add_to(&mut other, 1.0);
                prop_assert_eq!(reduced.info(i), rows.info(i));
                for j in 0..rows.rows() {
                    let (a, b) = (rows.row(j).dot(&dense), reduced.row(j).dot(&other));
                    prop_assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "{a} {b}");
                }
            }
        }

        /// β = c(y - z) for a part of the rows, with weights, and a constant feature that is free or not.
        #[test]
        fn ridge_solves_its_equations(
            values in proptest::collection::vec(proptest::collection::vec(-2.0..2.0f64, 30), 3..12),
            intercept in any::<bool>(),
            skipped in 0usize..3,
        ) {
            let mut block = Block::new(Layout::new(true, ValueKind::F64), 30);
            for (i, row) in values.iter().enumerate() {
                let info = RowInfo { label: 0.0, weight: 1.0, group: 0, id: i as u64 };
                block.push(info, row.iter().enumerate().map(|(j, &x)| (j as u32, x)));
            }
            let watch = Watch::new(&Stop::default(), None);
            let all = products(&block, &watch).unwrap();
            let known: Vec<(u32, f64, f64)> =
                (skipped..values.len()).map(|i| (i as u32, values[i][0] + 3.0, 0.5 + i as f64)).collect();
            let (lambda, bias) = (0.7, if intercept { 1.0 } else { 0.8 });
            let (betas, t) = ridge(&all, &known, (lambda, bias, intercept), &watch).unwrap();
            let sum: f64 = betas.iter().sum();
            let left = if intercept { sum } else { bias * bias * sum / lambda - t };
            prop_assert!(left.abs() <= 1e-9, "{sum} {t}");
            for (k, &(i, y, c)) in known.iter().enumerate() {
                let along: f64 = known.iter().zip(&betas).map(|(row, b)| all.at(i as usize, row.0 as usize) * b).sum();
                let z = along / lambda + t;
                prop_assert!((betas[k] - c * (y - z)).abs() <= 1e-9 * (1.0 + betas[k].abs()), "{} {z}", betas[k]);
            }
        }
    }
}
