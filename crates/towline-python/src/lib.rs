//! The compiled part of the Python package: arrays and paths become stores, and what the library says becomes Python
//! objects. Estimators, names and defaults are Python's part (`python/towline`).
mod arrays;
mod batches;
mod errors;
mod fit;
mod model;
mod pack;
mod reading;
mod report;
mod rows;
mod schema;
mod store;
mod stream;
mod validate;
mod watch;

use pyo3::prelude::*;

/// The compiled part of the Python package.
#[pymodule]
mod _native {
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::errors::StoreError;
    #[pymodule_export]
    use crate::fit::{Fitted, path, train};
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::pack::pack;
    #[pymodule_export]
    use crate::report::{report, report_fragment, save_report};
    #[pymodule_export]
    use crate::rows::Rows;
    #[pymodule_export]
    use crate::schema::{schema_check, schema_column, schema_from_toml, schema_of, schema_text, schema_to_toml};
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::stream::learn;
    #[pymodule_export]
    use crate::validate::cross_validate;
}
