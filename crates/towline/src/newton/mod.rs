//! Trust-region Newton in the primal, for losses with a continuous slope and the penalty ½‖w‖² (Lin, Weng and Keerthi 2008; preconditioned
//! as by Hsia, Chiang and Lin 2018, as in LIBLINEAR).
//!
//! An iteration minimises the quadratic model of F at w inside a ball by conjugate gradients, which ask for products of the Hessian `I + Σ c L''(z) x xᵀ` with a vector: one pass
//! over the rows each, in memory or by scans of the store. The slopes make a feasible dual point, `β = -c L'(z)`, whose gap is `½‖∇F‖²`: every iteration
//! knows how far from the optimum it is at most.
mod rows;
mod train;
mod trust_region;

pub(crate) use rows::{Rows, Scanning};
pub(crate) use train::train_task;
pub use train::{NewtonError, can_train, train};
pub(crate) use trust_region::Minimiser;
