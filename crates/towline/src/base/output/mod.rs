//! Everything that is written to disk comes into being here, so that nothing is lost and nothing of others is touched.
//!
//! ```text
//! claim the name ─► write under a name that nobody else has ─► sync ─► one rename ─► sync the folder
//! ```
//! - A [`Claim`] keeps a second run away from the same output, however the first one ends.
//! - What is unfinished has a name of its own (`.NAME.0123456789abcdef.towline-new`), is created with `O_EXCL |
//!   O_NOFOLLOW`, and folders
//!   carry a marker besides. The next run of the same output removes it; nothing else is ever removed.
//! - A name that was free is taken with `RENAME_NOREPLACE`, and of a name that was taken only the very file that was
//!   there at the beginning
//!   is replaced. What appears meanwhile stays, and the new output goes to a name beside it.
//! - An output is never an input of the same run, and never replaces a file of another [`Kind`].
mod claim;
mod error;
mod file;
mod folder;
mod inputs;
mod kind;
mod name;
mod publish;
mod remove;

pub use claim::Claim;
pub use error::OutputError;
pub(crate) use file::resolved;
pub use file::{NewFile, OutputFile, replace};
pub(crate) use folder::{MARKER, create_in, open_folder};
pub use folder::{NewFolder, ScratchFolder};
pub use inputs::Inputs;
pub use kind::Kind;
pub(crate) use kind::{DUALS_MAGIC, MODEL_MAGIC, REPORT_HEAD};
pub(crate) use name::{belongs_to, parent, unfinished};
pub(crate) use publish::Seen;

#[cfg(test)]
mod tests;
