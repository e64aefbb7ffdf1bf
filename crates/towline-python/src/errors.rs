//! What went wrong, as the exception that a Python program expects.
use pyo3::create_exception;
use pyo3::exceptions::{
    PyBlockingIOError, PyException, PyFileExistsError, PyKeyboardInterrupt, PyMemoryError, PyValueError,
};
use pyo3::prelude::*;
use towline::FitError;
use towline::budget::BudgetError;
use towline::input::InputError;
use towline::model::ModelError;
use towline::output::OutputError;
use towline::pack::PackError;
use towline::store::StoreError as LibraryStoreError;
use towline::trainer::TrainError;
use towline::wording::reword;

create_exception!(towline, StoreError, PyException, "A store cannot be read or written.");

/// An error of the library that has an exception of its own.
pub trait IntoException {
    /// The exception.
    fn into_exception(self) -> PyErr;
}

/// `Ok` stays, an error becomes an exception.
pub trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T, E: IntoException> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(IntoException::into_exception)
    }
}

/// A `ValueError` that says this.
pub fn bad_value(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(spoken(&error.to_string()))
}

/// Messages speak of settings of the library; here they are arguments: `` `scale(rows)` `` is `scale=rows`.
pub fn spoken(message: &str) -> String {
    reword(message, |name, value| match (name, value) {
        ("pack", Some(value)) => format!("towline.pack({})", value.replace(").to(", ", ")),
        // As scikit-learn calls it.
        ("non_negative", _) => "positive=True".into(),
        // These have no function here.
        ("index" | "verify", value) => {
            format!("'towline {name}{}'", value.map_or(String::new(), |value| format!(" {value}")))
        }
        (_, Some(value)) => format!("{name}={value}"),
        (_, None) => name.to_string(),
    })
}

fn io(source: std::io::Error, message: String) -> PyErr {
    // The kind of the error chooses the exception: FileNotFoundError, PermissionError, ...
    std::io::Error::new(source.kind(), message).into()
}

impl IntoException for BudgetError {
    fn into_exception(self) -> PyErr {
        let BudgetError { purpose, wanted_bytes, free_bytes, limit_bytes, least_bytes, .. } = self;
        PyMemoryError::new_err(format!(
            "the budget of {limit_bytes} bytes is too small: {purpose} needs {wanted_bytes} bytes and {free_bytes} are free; \
             use memory={least_bytes} or more"
        ))
    }
}

impl IntoException for InputError {
    fn into_exception(self) -> PyErr {
        let message = spoken(&self.to_string());
        match self {
            InputError::Io { source, .. } => io(source, message),
            InputError::Budget { source, .. } => source.into_exception(),
            _ => PyValueError::new_err(message),
        }
    }
}

impl IntoException for LibraryStoreError {
    fn into_exception(self) -> PyErr {
        match self {
            LibraryStoreError::Budget(error) => error.into_exception(),
            other => StoreError::new_err(spoken(&other.to_string())),
        }
    }
}

impl IntoException for PackError {
    fn into_exception(self) -> PyErr {
        match self {
            PackError::Input(error) => error.into_exception(),
            PackError::Store(error) => error.into_exception(),
            PackError::Budget(error) => error.into_exception(),
            PackError::Interrupted => PyKeyboardInterrupt::new_err(self.to_string()),
            other => bad_value(other),
        }
    }
}

impl IntoException for FitError {
    fn into_exception(self) -> PyErr {
        match self {
            FitError::Train(error) => error.into_exception(),
            FitError::Store(error) => error.into_exception(),
            FitError::Model(error) => error.into_exception(),
            FitError::Input(error) => error.into_exception(),
            FitError::Pack(error) => error.into_exception(),
            FitError::Stream(error) => error.into_exception(),
            FitError::Output(error) => error.into_exception(),
            other => bad_value(other),
        }
    }
}

impl IntoException for TrainError {
    fn into_exception(self) -> PyErr {
        match self {
            TrainError::Store(error) => error.into_exception(),
            TrainError::Budget(error) => error.into_exception(),
            TrainError::NoWeight => {
                PyValueError::new_err("no row has a weight above 0; check sample_weight and class_weight")
            }
            other => bad_value(other),
        }
    }
}

impl IntoException for ModelError {
    fn into_exception(self) -> PyErr {
        let message = spoken(&self.to_string());
        match self {
            ModelError::Io { source, .. } => io(source, message),
            ModelError::Output(error) => error.into_exception(),
            ModelError::Store(error) => error.into_exception(),
            ModelError::Budget(refused) => refused.into_exception(),
            _ => PyValueError::new_err(message),
        }
    }
}

impl IntoException for OutputError {
    fn into_exception(self) -> PyErr {
        let message = spoken(&self.to_string());
        match self {
            OutputError::Io { source, .. } | OutputError::NotDurable { source, .. } => io(source, message),
            OutputError::Appeared { .. } | OutputError::OtherKind { .. } => PyFileExistsError::new_err(message),
            OutputError::Busy { .. } | OutputError::ForeignLock { .. } => PyBlockingIOError::new_err(message),
            _ => PyValueError::new_err(message),
        }
    }
}
