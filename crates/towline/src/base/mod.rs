//! What everything stands on: the budget, files that appear whole, the machine, words for messages.
pub mod bits;
pub mod budget;
pub mod machine;
pub(crate) mod nearby;
pub mod output;
pub(crate) mod random;
pub mod stop;
pub mod wording;
