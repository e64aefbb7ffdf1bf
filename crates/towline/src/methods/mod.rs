//! The methods that minimise an objective, each on top of the engine.
pub mod auto;
pub mod comparison;
pub mod dual_cd;
pub mod indexed;
pub mod online;
pub mod primal_cd;
pub mod second_order;
pub mod truncation;
