//! How good predictions are: one list of names ([`Metric`]), one file for each family of measures.
mod binary;
mod classes;
pub mod confusion;
mod judge;
mod metric;
mod numbers;
pub mod ranking;
#[cfg(test)]
mod tests;
mod threshold;

pub use binary::BinaryQuality;
pub use classes::{ClassCounts, ClassQuality, ClassRow};
pub use judge::{Judge, Judged, Quality};
pub use metric::{Metric, MetricError};
pub use numbers::{NumberQuality, SeveralQuality, SeveralSums, TargetQuality};
pub use threshold::Threshold;
