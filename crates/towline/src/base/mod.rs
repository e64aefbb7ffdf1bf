//! What everything stands on: the budget, files that appear whole, the machine, words for messages.
pub mod bits;
pub mod budget;
pub mod machine;
pub mod output;
pub(crate) mod prefetch;
pub(crate) mod random;
pub mod stop;
pub mod wording;
pub(crate) mod write_back;
