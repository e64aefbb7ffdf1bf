//! Eigenvalues of small symmetric matrices, which know the singular values and right singular vectors of tall ones.
//!
//! A matrix of features by outputs has millions of rows and few columns: all that the nuclear norm asks of it is in its
//! Gram matrix UᵀU, whose eigenvectors faer finds.
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{MatMut, MatRef, Par};

/// `Q Λ Qᵀ`.
pub struct Spectrum {
    /// Λ, in no order.
    pub values: Vec<f64>,
    /// Qᵀ: an eigenvector a row.
    pub vectors: Vec<f64>,
    scratch: MemBuffer,
}

impl Spectrum {
    /// That of the matrix 0.
    pub fn new(size: usize) -> Self {
        let scratch = self_adjoint_evd_scratch::<f64>(size, ComputeEigenvectors::Yes, Par::Seq, Default::default());
        Spectrum { values: vec![0.0; size], vectors: unit_vectors(size), scratch: MemBuffer::new(scratch) }
    }

    /// That of a symmetric matrix.
    pub fn of(matrix: &[f64], size: usize) -> Self {
        let mut spectrum = Spectrum::new(size);
        spectrum.find(matrix);
        spectrum
    }

    /// Eigenvalues and eigenvectors of another matrix of that size.
    pub fn find(&mut self, matrix: &[f64]) {
        let Spectrum { values, vectors, scratch } = self;
        let size = values.len();
        let found = self_adjoint_evd(
            MatRef::from_row_major_slice(matrix, size, size),
            DiagMut::from_slice_mut(values),
            // By column there, by row here.
            Some(MatMut::from_column_major_slice_mut(vectors, size, size)),
            Par::Seq,
            MemStack::new(scratch),
            Default::default(),
        );
        if found.is_err() {
            // Only where the matrix has something that is no number, and no certificate is either.
            values.fill(f64::NAN);
            *vectors = unit_vectors(size);
        }
    }
}

fn unit_vectors(size: usize) -> Vec<f64> {
    (0..size * size).map(|at| f64::from(at % (size + 1) == 0)).collect()
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
            n in 1usize..40, numbers in proptest::collection::vec(-1.0..1.0f64, 12 * 40), rank in 1usize..12, near in 0.0..1e-3f64
        ) {
            // Of any rank, and some entries exactly 0.
            let rows: Vec<f64> = numbers[..rank * n].iter().map(|x| if x.abs() < 0.2 { 0.0 } else { *x }).collect();
            let matrix = gram(&rows, n);
            let mut spectrum = Spectrum::of(&matrix, n);
            check(&spectrum, &matrix, n);
            let moved: Vec<f64> = rows.iter().map(|x| x + near * x * x).collect();
            let matrix = gram(&moved, n);
            spectrum.find(&matrix);
            check(&spectrum, &matrix, n);
        }
    }

    #[test]
    fn what_is_no_number_stays_none() {
        for bad in [f64::NAN, f64::INFINITY] {
            let found = Spectrum::of(&[1.0, bad, bad, 1.0], 2);
            assert!(!found.values.iter().all(|value| value.is_finite()), "{:?}", found.values);
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
