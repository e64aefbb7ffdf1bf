//! Anderson extrapolation of a series of iterates (Bertrand & Massias 2021, as in skglm).
//!
//! While the same weights are not 0, a sweep of coordinate descent is an affine map, whose fixed point lies near that
//! combination `Σ c_k x_k`, `Σ c_k = 1`, for which `‖Σ c_k (x_k - x_{k-1})‖` is least. It costs a few products of
//! vectors of the length of the support.

/// Iterates that are kept: the newest, and as many before it as there are differences.
pub const ITERATES: usize = 6;

/// The combination of the iterates, oldest first, that is nearest to a fixed point; none if they do not move, or move
/// in one direction only.
pub fn extrapolate(iterates: &[Vec<f64>]) -> Option<Vec<f64>> {
    let moves: Vec<Vec<f64>> =
        iterates.windows(2).map(|pair| pair[1].iter().zip(&pair[0]).map(|(new, old)| new - old).collect()).collect();
    let count = moves.len();
    let mut products: Vec<Vec<f64>> =
        moves.iter().map(|a| moves.iter().map(|b| a.iter().zip(b).map(|(a, b)| a * b).sum()).collect()).collect();
    // A little of the identity keeps it solvable; relative to the largest move, as the last ones may be tiny.
    let trace: f64 = (0..count).map(|k| products[k][k]).sum();
    (0..count).for_each(|k| products[k][k] += 1e-14 * trace);
    let shares = solve_ones(products)?;
    let sum: f64 = shares.iter().sum();
    let mut combined = vec![0.0; iterates[0].len()];
    for (share, iterate) in shares.iter().zip(&iterates[1..]) {
        combined.iter_mut().zip(iterate).for_each(|(to, x)| *to += share / sum * x);
    }
    combined.iter().all(|x| x.is_finite()).then_some(combined)
}

/// Solves `A x = 1` by elimination with pivots.
fn solve_ones(mut a: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let count = a.len();
    let mut x = vec![1.0; count];
    for k in 0..count {
        let pivot = (k..count).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs()))?;
        if a[pivot][k] == 0.0 {
            return None;
        }
        a.swap(k, pivot);
        x.swap(k, pivot);
        let (above, below) = a.split_at_mut(k + 1);
        for (i, row) in below.iter_mut().enumerate() {
            let factor = row[k] / above[k][k];
            row[k..].iter_mut().zip(&above[k][k..]).for_each(|(to, from)| *to -= factor * from);
            x[k + 1 + i] -= factor * x[k];
        }
    }
    for k in (0..count).rev() {
        let known: f64 = (k + 1..count).map(|j| a[k][j] * x[j]).sum();
        x[k] = (x[k] - known) / a[k][k];
    }
    Some(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_affine_map_in_few_dimensions_is_solved_at_once() {
        // x ← Ax + b, with the fixed point (1, -2, 3).
        let map = |x: &[f64]| {
            let off: Vec<f64> = x.iter().zip([1.0, -2.0, 3.0]).map(|(x, fixed)| x - fixed).collect();
            vec![
                1.0 + 0.9 * off[0] + 0.05 * off[1],
                -2.0 + 0.05 * off[0] + 0.8 * off[1] - 0.1 * off[2],
                3.0 - 0.1 * off[1] + 0.7 * off[2],
            ]
        };
        let mut iterates = vec![vec![0.0; 3]];
        while iterates.len() < 5 {
            iterates.push(map(&iterates[iterates.len() - 1]));
        }
        let found = extrapolate(&iterates).unwrap();
        for (found, wanted) in found.iter().zip([1.0, -2.0, 3.0]) {
            assert!((found - wanted).abs() < 1e-4, "{found} for {wanted}");
        }
        let last = &iterates[4];
        assert!((last[0] - 1.0).abs() > 0.3, "without it there is a long way to go: {last:?}");
    }

    #[test]
    fn what_does_not_move_is_left_alone() {
        assert!(extrapolate(&vec![vec![1.0, 2.0]; ITERATES]).is_none());
    }
}
