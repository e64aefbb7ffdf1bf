//! `ω·x + b` for all features of the map at once, and the cosine of it.
//!
//! Everything is counted in turns, so that an angle is brought into range by taking away its nearest whole number. Each
//! feature has a sum of its own, to which the values of a row are added in their order, and nothing is fused: whatever
//! vectors a processor has, the bits are the same.
use super::FourierMap;

/// The sums of one row.
pub(crate) struct Angles {
    phases: Vec<f64>,
    turns: Vec<f64>,
}

impl Angles {
    pub fn new(map: &FourierMap) -> Self {
        Angles { phases: map.phases(), turns: Vec::new() }
    }

    /// Bytes in memory.
    pub fn bytes(features: u64) -> u64 {
        features * 16
    }

    /// Begins a row.
    pub fn begin(&mut self) {
        self.turns.clone_from(&self.phases);
    }

    /// Adds a value of the row.
    pub fn add(&mut self, frequencies: &[f32], value: f64) {
        self.turns.iter_mut().zip(frequencies).for_each(|(turns, &omega)| *turns += f64::from(omega) * value);
    }

    /// Adds four values of the row, as if one after the other: the sums are read and written once instead of four
    /// times.
    pub fn add_four(&mut self, frequencies: [&[f32]; 4], values: [f64; 4]) {
        let n = self.turns.len();
        let [a, b, c, d] = frequencies.map(|part| &part[..n]);
        for (k, turns) in self.turns.iter_mut().enumerate() {
            let sum = *turns + f64::from(a[k]) * values[0];
            let sum = sum + f64::from(b[k]) * values[1];
            let sum = sum + f64::from(c[k]) * values[2];
            *turns = sum + f64::from(d[k]) * values[3];
        }
    }

    /// Ends the row: all features of the map, in order.
    pub fn features(&mut self) -> &[f64] {
        let scale = (2.0 / self.turns.len() as f64).sqrt();
        self.turns.iter_mut().for_each(|turns| *turns = scale * cosine(*turns));
        &self.turns
    }
}

/// `cos(2πt)` to 1e-13. A number too large to have a fraction has no angle either; it gives some number from -1 to 1.
#[inline]
fn cosine(turns: f64) -> f64 {
    /// Adding it leaves no room for a fraction, which rounds to the nearest whole number; taking it away again is
    /// exact.
    const NO_FRACTION: f64 = 6_755_399_441_055_744.0;
    /// (2π)^n / n! with alternating signs, for odd n: the sine of 2πq by Taylor's series, |q| ≤ 1/4.
    const SINE: [f64; 9] = [
        std::f64::consts::TAU,
        -41.341_702_240_399_76,
        81.605_249_276_075_05,
        -76.705_859_753_061_39,
        42.058_693_944_897_65,
        -15.094_642_576_822_99,
        3.819_952_584_848_282,
        -0.718_122_301_778_500_5,
        0.104_229_162_208_139_84,
    ];
    let nearest = (turns + NO_FRACTION) - NO_FRACTION;
    // The order of the two decides for NaN, which comes of infinite angles: it becomes a half.
    let rest = (turns - nearest).abs().min(0.5);
    let q = 0.25 - rest;
    let square = q * q;
    SINE.iter().rev().fold(0.0, |sum, &factor| sum * square + factor) * q
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_angle_is_too_large() {
        for turns in [0.0, 0.25, 0.5, -0.75, 1e15, -4e15, 1e16, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            let found = cosine(turns);
            assert!((-1.0 - 1e-12..=1.0 + 1e-12).contains(&found), "{turns}: {found}");
        }
    }

    proptest! {
        #[test]
        fn it_is_the_cosine(turns in -1e3f64..1e3) {
            // Fractions are exact here, so that the library is not asked for more than it was given.
            let expected = (std::f64::consts::TAU * (turns - turns.round())).cos();
            prop_assert!((cosine(turns) - expected).abs() < 1e-12);
        }

        #[test]
        fn four_at_once_are_four(values in proptest::array::uniform4(-3.0f64..3.0), seed: u64) {
            let map = FourierMap::new(33, 0.7, seed).unwrap();
            let frequencies: [Vec<f32>; 4] = std::array::from_fn(|k| {
                let mut into = Vec::new();
                map.frequencies(k as u64, &mut into);
                into
            });
            let (mut one, mut four) = (Angles::new(&map), Angles::new(&map));
            one.begin();
            frequencies.iter().zip(values).for_each(|(part, value)| one.add(part, value));
            four.begin();
            four.add_four(std::array::from_fn(|k| &frequencies[k][..]), values);
            prop_assert_eq!(one.features(), four.features());
        }
    }
}
