//! The Metric Forest: an index beside the blocks of a store that finds the rows near a hyperplane (IBCD, sections 3.2
//! and 4.1).
//!
//! ```text
//! store ─► random groups of rows ─► a K-way tree each ─► pages on disk: pivots of a node, rows of a leaf
//! query: -V(ŵ) ─► nodes of all trees, best bin first ─► rows that matter and are not active yet
//! ```
//! Rows lie in the tree by the angle between their images V(x) in the space of all products of two features, which is
//! never formed: `V(a)·V(b) = (a·b)²`. There the rows nearest to a hyperplane are the nearest neighbours of one point,
//! -V(w). A tree is built in memory from rows that fit there; many trees, each with pivots of its own, keep answers
//! from leaning towards a few pivots.
//!
//! A page is a block as everywhere in a store ([`crate::store::format`]), so that its checksums and its checks against
//! forged sizes hold here as well. The index knows nothing of labels beyond keeping them: it serves every C, class and
//! loss.
mod bounds;
mod build;
mod cache;
mod forest;
mod manifest;
mod nodes;
mod pages;
mod query;
#[cfg(test)]
mod tests;
mod tree;
mod verify;

pub(crate) use build::first_rows;
pub use build::{Built, IndexOptions, build};
pub use cache::PageCache;
pub use forest::Forest;
pub use manifest::IndexManifest;
pub use query::{Answer, Question, RowTargets, Search};
pub use verify::verify;
