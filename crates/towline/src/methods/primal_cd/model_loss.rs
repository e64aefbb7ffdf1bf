//! Losses as a quadratic model needs them: with a slope that is continuous.
//!
//! A loss with kinks is rounded off, row by row, around a dual variable β:
//!
//! ```text
//! L̃(z) = max_b -bz - cL*(-b/c) - q/2 (b - β)²,   L̃' = -b, L̃'' = 1/q where b is free to move,   q = width/c
//! ```
//! Where w minimises R + ΣL̃, β ← b is a step of the method of multipliers (Rockafellar 1976), a proximal point method
//! in the dual; the widths need not go to 0 for it to end at the optimum of R + ΣcL. b is what a dual step finds
//! ([`Loss::dual_step`]), with q in place of ‖x‖².
use crate::loss::{Loss, SmoothLoss};

/// A row, as far as its margin goes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Target {
    /// The target.
    pub y: f64,
    /// The weight of the loss; 0 for a row that has no part in it.
    pub c: f64,
    /// β, around which a loss with kinks is rounded off.
    pub beta: f64,
}

/// What a margin costs, weight included, with a continuous slope.
pub trait ModelLoss: Copy + Send {
    /// The loss of the objective.
    type Exact: Loss;

    /// That loss.
    fn exact(&self) -> Self::Exact;

    /// What margin z costs.
    fn value(&self, row: &Target, z: f64) -> f64;

    /// Its derivative.
    fn slope(&self, row: &Target, z: f64) -> f64;

    /// Its second derivative, or one of the limits.
    fn second(&self, row: &Target, z: f64) -> f64;

    /// The most that the second derivative can be for weight 1.
    fn curvature(&self) -> f64;

    /// Whether a quadratic model is not just near it.
    fn is_quadratic(&self) -> bool {
        false
    }

    /// Looks at the rows before anything else.
    fn see(&mut self, rows: &[Target]) {
        let _ = rows;
    }

    /// The certificate at margins z has this gap, and the last step let the objective fall so far. Goes on to the next
    /// rounding if this one is solved, and says whether it did.
    fn go_on(&mut self, rows: &mut [Target], z: &[f64], gap: f64, fall: f64) -> bool {
        let _ = (rows, z, gap, fall);
        false
    }
}

/// A loss that needs no rounding.
#[derive(Clone, Copy, Debug)]
pub struct Smooth<L>(pub L);

impl<L: SmoothLoss> ModelLoss for Smooth<L> {
    type Exact = L;

    fn exact(&self) -> L {
        self.0
    }

    #[inline]
    fn value(&self, row: &Target, z: f64) -> f64 {
        row.c * self.0.value(row.y, z)
    }

    #[inline]
    fn slope(&self, row: &Target, z: f64) -> f64 {
        row.c * self.0.slope(row.y, z)
    }

    #[inline]
    fn second(&self, row: &Target, z: f64) -> f64 {
        row.c * self.0.second(row.y, z)
    }

    fn curvature(&self) -> f64 {
        self.0.curvature()
    }

    fn is_quadratic(&self) -> bool {
        self.0.is_quadratic()
    }
}

/// A loss with kinks, rounded off.
#[derive(Clone, Copy, Debug)]
pub struct Rounded<L> {
    loss: L,
    /// How far a margin goes while b crosses an interval of length c.
    width: f64,
    least: f64,
}

/// Widths, at the beginning and at least, as parts of what a row costs at w = 0; and what a width is multiplied with
/// when it has done its work.
const WIDTHS: [f64; 2] = [1.0, 1e-3];
const NARROWER: f64 = 0.5;
/// A step that gains less than this part of what losses are rounded off by gains nothing.
const NOTHING: f64 = 1e-9;

impl<L: Loss> Rounded<L> {
    /// As for rows that cost 1 at w = 0.
    pub fn new(loss: L) -> Self {
        let [width, least] = WIDTHS;
        Rounded { loss, width, least }
    }

    fn q(&self, row: &Target) -> f64 {
        self.width / row.c
    }

    #[inline]
    fn dual(&self, row: &Target, z: f64) -> f64 {
        self.loss.dual_step(row.y, z, row.beta, self.q(row), row.c)
    }
}

impl<L: Loss> ModelLoss for Rounded<L> {
    type Exact = L;

    fn exact(&self) -> L {
        self.loss
    }

    fn value(&self, row: &Target, z: f64) -> f64 {
        let b = self.dual(row, z);
        self.loss.dual_value(row.y, b, row.c) - b * z - 0.5 * self.q(row) * (b - row.beta) * (b - row.beta)
    }

    #[inline]
    fn slope(&self, row: &Target, z: f64) -> f64 {
        -self.dual(row, z)
    }

    /// L* has kinks at 0 and at the ends of its domain, where b stays while z moves.
    fn second(&self, row: &Target, z: f64) -> f64 {
        let (b, (low, high)) = (self.dual(row, z), self.loss.dual_bounds(row.y, row.c));
        if b == 0.0 || b == low || b == high { 0.0 } else { 1.0 / self.q(row) }
    }

    fn curvature(&self) -> f64 {
        1.0 / self.width
    }

    fn see(&mut self, rows: &[Target]) {
        let costs = rows.iter().filter(|row| row.c > 0.0).map(|row| self.loss.value(row.y, 0.0));
        let (sum, count) = costs.fold((0.0, 0.0), |(sum, count), cost| (sum + cost, count + 1.0));
        let cost: f64 = sum / count;
        if cost > 0.0 {
            [self.width, self.least] = WIDTHS.map(|width| width * cost);
        }
    }

    /// The rule (B) of Rockafellar: the gap of the rounded problem is at most q/2 ‖b - β‖². It is that of the
    /// objective, less what the losses were rounded off by, plus that square. Where steps have come to their end in
    /// rounding errors, there is nothing to wait for.
    fn go_on(&mut self, rows: &mut [Target], z: &[f64], gap: f64, fall: f64) -> bool {
        let off = |(row, z): (&Target, &f64)| row.c * self.loss.value(row.y, *z) - self.value(row, *z);
        let off: f64 = rows.iter().zip(z).filter(|(row, _)| row.c > 0.0).map(off).sum();
        if gap > off && fall > NOTHING * off {
            return false;
        }
        for (row, &z) in rows.iter_mut().zip(z).filter(|(row, _)| row.c > 0.0) {
            row.beta = self.dual(row, z);
        }
        self.width = (NARROWER * self.width).max(self.least);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::loss::{EpsilonInsensitive, Hinge};

    /// Slopes are those of values, second derivatives those of slopes, and the loss is rounded off downwards by no more
    /// than what b can be away from β.
    fn is_rounded_off<L: Loss>(loss: L, row: Target, z: f64, width: f64) {
        let rounded = Rounded { loss, width, least: width };
        let (low, high) = loss.dual_bounds(row.y, row.c);
        let h = 1e-6;
        let slope = (rounded.value(&row, z + h) - rounded.value(&row, z - h)) / (2.0 * h);
        assert!((rounded.slope(&row, z) - slope).abs() < 1e-5 * (1.0 + row.c / width), "{slope}");
        let second = (rounded.slope(&row, z + h) - rounded.slope(&row, z - h)) / (2.0 * h);
        let [before, now, after] = [z - h, z, z + h].map(|z| rounded.second(&row, z));
        if before == now && now == after {
            assert!((now - second).abs() < 1e-4 * (1.0 + row.c / width), "{now} for {second}");
        }
        assert!(now <= row.c * rounded.curvature() * (1.0 + 1e-12));
        let off = row.c * loss.value(row.y, z) - rounded.value(&row, z);
        let most = 0.5 * rounded.q(&row) * (high - low).powi(2);
        assert!((-1e-12..=most + 1e-12).contains(&off), "{off} of {most}");
    }

    proptest! {
        #[test]
        fn losses_are_rounded_off(
            y in -2.0f64..2.0, z in -4.0f64..4.0, c in 0.1f64..3.0, place in 0.0f64..1.0, width in 0.05f64..2.0,
        ) {
            let sign = y.signum();
            is_rounded_off(Hinge, Target { y: sign, c, beta: sign * c * place }, z, width);
            let tube = EpsilonInsensitive::new(0.3).unwrap();
            is_rounded_off(tube, Target { y, c, beta: c * (2.0 * place - 1.0) }, z, width);
        }
    }

    #[test]
    fn the_next_rounding_comes_when_this_one_is_solved() {
        let mut rounded = Rounded::new(Hinge);
        let mut rows = [Target { y: 1.0, c: 2.0, beta: 0.0 }, Target::default()];
        // b = 1: the loss of 2·0.5 is rounded off to 0.5.
        let z = [0.5, 9.0];
        assert_eq!(rounded.value(&rows[0], z[0]), 0.25);
        assert!(!rounded.go_on(&mut rows, &z, 0.76, 1.0));
        assert_eq!((rows[0].beta, rounded.width), (0.0, 1.0));
        assert!(rounded.go_on(&mut rows, &z, 0.74, 1.0));
        assert_eq!((rows[0].beta, rows[1].beta, rounded.width), (1.0, 0.0, 0.5));
        (0..20).for_each(|_| _ = rounded.go_on(&mut rows, &z, 9.0, 0.0));
        assert_eq!((rows[0].beta, rounded.width), (2.0, 1e-3));
    }

    #[test]
    fn widths_are_those_of_the_targets() {
        let mut rounded = Rounded::new(EpsilonInsensitive::new(0.0).unwrap());
        let row = |y| Target { y, c: 1.0, beta: 0.0 };
        rounded.see(&[row(300.0), row(-100.0), Target::default()]);
        assert_eq!((rounded.width, rounded.least), (200.0, 0.2));
    }
}
