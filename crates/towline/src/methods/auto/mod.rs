//! Which solver runs, and what happens where it turns out to be slow; paths of models.
mod choose;
mod lambda_max;
mod own_parts;
mod path;
mod train;

pub use choose::Choice;
pub use lambda_max::{LambdaMax, lambda_max};
pub use own_parts::train_own;
pub(crate) use path::point_bytes;
pub use path::{EachPoint, path};
pub use train::{train, train_all, train_by_newton};
