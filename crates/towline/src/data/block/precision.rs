//! How values are kept.

/// How values are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Precision {
    /// As 32-bit floats.
    #[default]
    F32,
    /// As 64-bit floats.
    F64,
}

impl Precision {
    /// The number that is kept for `value`; infinite if it is too large.
    #[inline(always)]
    pub fn round(self, value: f64) -> f64 {
        match self {
            Precision::F32 => value as f32 as f64,
            Precision::F64 => value,
        }
    }
}
