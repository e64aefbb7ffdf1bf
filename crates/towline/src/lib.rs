//! Towline trains linear models exactly on data that does not fit in memory, inside a memory budget that it keeps.
pub mod block;
pub mod budget;
pub mod evaluate;
pub mod input;
pub mod loss;
pub mod machine;
pub mod model;
mod nearby;
pub mod objective;
pub mod order;
pub mod pack;
pub mod predict;
pub mod solver;
pub mod store;
pub mod trainer;
pub mod working_set;
