//! NumPy arrays as memory that the library may read where it lies.
use std::sync::Arc;

use numpy::{Element, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use towline::block::Cells;

/// The memory of an array, read as numbers of type T, and the array that keeps it alive.
struct Borrowed<T> {
    first: *const T,
    length: usize,
    _array: Py<PyAny>,
}

// SAFETY: the memory is only read, and the array that owns it lives as long as this. Python programs are told not to
// change arrays while an estimator works on them, as for every other library that lets go of the interpreter lock.
unsafe impl<T: Sync> Send for Borrowed<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Borrowed<T> {}

impl<T> AsRef<[T]> for Borrowed<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: `cells` took pointer and length from a slice of the array.
        unsafe { std::slice::from_raw_parts(self.first, self.length) }
    }
}

/// Integers and floats that may be read as numbers of type `T`, which has the same size and takes any bits.
///
/// # Safety
/// `Self` and `T` have the same size and alignment, and every value of one is a value of the other.
pub unsafe trait ReadAs<T> {}

// SAFETY (all four): signed and unsigned integers of a size differ in meaning only, and a type is like itself.
unsafe impl ReadAs<u32> for i32 {}
unsafe impl ReadAs<u64> for i64 {}
unsafe impl ReadAs<f32> for f32 {}
unsafe impl ReadAs<f64> for f64 {}

/// The numbers of a one-dimensional array, where they lie.
pub fn cells<E: Element + ReadAs<T>, T: Sync + 'static>(array: &PyReadonlyArray1<'_, E>) -> PyResult<Cells<T>> {
    if !array.is_c_contiguous() || !array.is_aligned() {
        return Err(PyValueError::new_err("an array is not contiguous or not aligned"));
    }
    let slice = array.as_slice().map_err(|error| PyValueError::new_err(error.to_string()))?;
    let owner =
        Borrowed { first: slice.as_ptr().cast::<T>(), length: slice.len(), _array: array.as_any().clone().unbind() };
    Ok(Cells::shared(Arc::new(owner)))
}
