//! The compiled part of the Python package.
use pyo3::prelude::*;

/// The compiled part of the Python package.
#[pymodule]
mod _native {}
