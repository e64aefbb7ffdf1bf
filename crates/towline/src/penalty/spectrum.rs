//! Eigenvalues of small symmetric matrices, which know the singular values and right singular vectors of tall ones.
//!
//! A matrix of features by outputs has millions of rows and few columns: all that the nuclear norm asks of it is in its Gram matrix
//! UᵀU. Jacobi's cyclic rotations (Golub & Van Loan, section 8.5) find the eigenvectors of one, and begin with those of a
//! matrix nearby where these are known, which takes one or two rounds where a method by tridiagonal form would begin anew.

/// Rounds of rotations, at most; they converge quadratically, and a dozen is enough for any matrix of doubles.
const MOST_ROUNDS: usize = 40;

/// `Q Λ Qᵀ`.
#[derive(Clone, Debug)]
pub struct Spectrum {
    size: usize,
    /// Λ, in no order.
    pub values: Vec<f64>,
    /// Qᵀ: an eigenvector a row.
    pub vectors: Vec<f64>,
    /// Scratch: QᵀAQ while it becomes diagonal.
    turned: Vec<f64>,
}

impl Spectrum {
    /// That of the matrix 0.
    pub fn new(size: usize) -> Self {
        let mut spectrum =
            Spectrum { size, values: vec![0.0; size], vectors: Vec::new(), turned: vec![0.0; size * size] };
        spectrum.forget();
        spectrum
    }

    /// That of a symmetric matrix.
    pub fn of(matrix: &[f64], size: usize) -> Self {
        let mut spectrum = Spectrum::new(size);
        spectrum.follow(matrix);
        spectrum
    }

    /// Eigenvectors begin anew, so that rounding does not add up.
    pub fn forget(&mut self) {
        self.vectors = (0..self.size * self.size).map(|at| f64::from(at % (self.size + 1) == 0)).collect();
    }

    /// Eigenvalues and eigenvectors of `matrix`, faster the nearer it is to the last one.
    pub fn follow(&mut self, matrix: &[f64]) {
        self.turn(matrix);
        let n = self.size;
        let scale = matrix.iter().map(|a| a * a).sum::<f64>();
        for _ in 0..MOST_ROUNDS {
            let off: f64 =
                (0..n).map(|i| self.turned[i * n + i + 1..(i + 1) * n].iter().map(|a| a * a).sum::<f64>()).sum();
            if off <= 1e-30 * scale {
                break;
            }
            for p in 0..n {
                (p + 1..n).for_each(|q| self.rotate(p, q));
            }
        }
        (0..n).for_each(|i| self.values[i] = self.turned[i * n + i]);
    }

    /// QᵀAQ with the eigenvectors of before.
    fn turn(&mut self, matrix: &[f64]) {
        let n = self.size;
        let mut product = vec![0.0; n];
        for i in 0..n {
            let q = &self.vectors[i * n..][..n];
            for (row, sum) in matrix.chunks_exact(n).zip(&mut product) {
                *sum = dot(row, q);
            }
            for j in 0..n {
                self.turned[i * n + j] = dot(&product, &self.vectors[j * n..][..n]);
            }
        }
    }

    /// Makes one entry beside the diagonal 0.
    fn rotate(&mut self, p: usize, q: usize) {
        let n = self.size;
        let (app, aqq, apq) = (self.turned[p * n + p], self.turned[q * n + q], self.turned[p * n + q]);
        if apq.abs() <= f64::EPSILON * (app * aqq).abs().sqrt() * 1e-3 || apq == 0.0 {
            return;
        }
        let tau = (aqq - app) / (2.0 * apq);
        // Where τ² overflows, the tangent is 0, which it nearly is.
        let tangent = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
        let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
        let sine = tangent * cosine;
        for k in 0..n {
            let (a, b) = (self.turned[k * n + p], self.turned[k * n + q]);
            self.turned[k * n + p] = cosine * a - sine * b;
            self.turned[k * n + q] = sine * a + cosine * b;
        }
        turn_rows(&mut self.turned, n, (p, q), (cosine, sine));
        turn_rows(&mut self.vectors, n, (p, q), (cosine, sine));
    }
}

fn turn_rows(matrix: &mut [f64], n: usize, (p, q): (usize, usize), (cosine, sine): (f64, f64)) {
    let (above, below) = matrix.split_at_mut(q * n);
    for (a, b) in above[p * n..][..n].iter_mut().zip(&mut below[..n]) {
        (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `UᵀU` of a matrix whose rows have `size` numbers each.
pub fn gram(rows: &[f64], size: usize) -> Vec<f64> {
    let mut gram = vec![0.0; size * size];
    for row in rows.chunks_exact(size) {
        for (i, &a) in row.iter().enumerate().filter(|item| *item.1 != 0.0) {
            gram[i * size..][..size].iter_mut().zip(row).for_each(|(sum, b)| *sum += a * b);
        }
    }
    gram
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(spectrum: &Spectrum, matrix: &[f64], n: usize) {
        let largest = matrix.iter().fold(1e-300, |most, a: &f64| a.abs().max(most));
        for i in 0..n {
            let q = &spectrum.vectors[i * n..][..n];
            for j in 0..n {
                let same = f64::from(i == j);
                assert!((dot(q, &spectrum.vectors[j * n..][..n]) - same).abs() < 1e-12);
                let image = dot(&matrix[j * n..][..n], q);
                assert!((image - spectrum.values[i] * q[j]).abs() < 1e-12 * n as f64 * largest, "{image}");
            }
        }
    }

    proptest! {
        #[test]
        fn eigenvectors_are_turned_into_multiples_of_themselves(
            n in 1usize..9, numbers in proptest::collection::vec(-1.0..1.0f64, 12 * 9), rank in 1usize..12, near in 0.0..1e-3f64
        ) {
            // Of any rank, and some entries exactly 0.
            let rows: Vec<f64> = numbers[..rank * n].iter().map(|x| if x.abs() < 0.2 { 0.0 } else { *x }).collect();
            let matrix = gram(&rows, n);
            let mut spectrum = Spectrum::of(&matrix, n);
            check(&spectrum, &matrix, n);
            let moved: Vec<f64> = rows.iter().map(|x| x + near * x * x).collect();
            let matrix = gram(&moved, n);
            spectrum.follow(&matrix);
            check(&spectrum, &matrix, n);
        }
    }

    #[test]
    fn matrices_of_very_different_sizes_are_no_trouble() {
        for scale in [0.0, 1e-200, 1e-9, 1e150] {
            let matrix = [4.0 * scale, scale, scale, 3.0 * scale];
            let found = Spectrum::of(&matrix, 2);
            assert!((found.values.iter().sum::<f64>() - 7.0 * scale).abs() <= 1e-14 * 7.0 * scale);
        }
    }
}
