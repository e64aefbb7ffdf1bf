//! Steps with the factor of an earlier Hessian: limited-memory BFGS around it (Nocedal and Wright, Algorithm 7.4).
//!
//! A scan for a gradient costs as much as the values of the rows, one for a Hessian as much as their squares. The
//! Hessian of a sample, or of some steps ago, is a good start: what is missing shows in how gradients change from step
//! to step.

/// Pairs of steps and changes of the gradient that are kept.
const PAIRS: usize = 20;
/// After this many steps a new Hessian is due, unless the decrement has fallen to this part of what it was.
const TRIAL: (u32, f64) = (12, 0.2);

/// What was seen. Pairs of steps and changes are those of F, and stay right with another factor.
#[derive(Default)]
pub struct Memory {
    /// Steps, changes of the gradient, and the products of both.
    pairs: Vec<(Vec<f64>, Vec<f64>, f64)>,
    /// Where the last direction was found, and the gradient there.
    last: Option<(Vec<f64>, Vec<f64>)>,
    /// Steps since the decrement was compared, and what it was then.
    trial: (u32, f64),
}

impl Memory {
    /// Bytes of memory for this many weights.
    pub fn bytes(size: u64) -> u64 {
        8 * (2 * PAIRS as u64 + 2) * size
    }

    /// Another function: what was seen says nothing about it.
    pub fn clear(&mut self) {
        *self = Memory::default();
    }

    /// Another factor, which has a trial of its own.
    pub fn renew(&mut self) {
        self.trial = (0, 0.0);
    }

    /// A step has led to `w`, where the gradient is this.
    pub fn note(&mut self, w: &[f64], gradient: &[f64]) {
        if let Some((before, old)) = self.last.take() {
            let step: Vec<f64> = w.iter().zip(&before).map(|(w, b)| w - b).collect();
            let change: Vec<f64> = gradient.iter().zip(&old).map(|(g, o)| g - o).collect();
            let product = dot(&step, &change);
            // F is convex: any other sign is rounding.
            if product > 0.0 && product.is_finite() {
                if self.pairs.len() == PAIRS {
                    self.pairs.remove(0);
                }
                self.pairs.push((step, change, product));
            }
        }
        self.last = Some((w.to_vec(), gradient.to_vec()));
    }

    /// Replaces `-gradient` by the step from there; `solve` divides by the Hessian that was factored.
    pub fn direction(&self, towards: &mut [f64], solve: impl FnOnce(&mut [f64])) {
        let mut parts = Vec::with_capacity(self.pairs.len());
        for (step, change, product) in self.pairs.iter().rev() {
            let part = dot(step, towards) / product;
            towards.iter_mut().zip(change).for_each(|(t, c)| *t -= part * c);
            parts.push(part);
        }
        solve(towards);
        for ((step, change, product), part) in self.pairs.iter().zip(parts.iter().rev()) {
            let back = dot(change, towards) / product;
            towards.iter_mut().zip(step).for_each(|(t, s)| *t += (part - back) * s);
        }
    }

    /// Whether the decrement, which is this now, has hardly fallen for some steps; nothing until those are made.
    pub fn trial(&mut self, decrement: f64) -> Option<bool> {
        let (steps, before) = self.trial;
        if steps == 0 {
            self.trial = (1, decrement);
            return None;
        }
        if steps < TRIAL.0 {
            self.trial.0 += 1;
            return None;
        }
        self.trial = (1, decrement);
        Some(decrement.is_nan() || decrement > TRIAL.1 * before)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quadratic function whose Hessian is not the one that was factored: some steps find its minimum.
    #[test]
    fn a_wrong_hessian_is_made_up_for() {
        let hessian = [[4.0, 1.0, 0.0], [1.0, 9.0, 2.0], [0.0, 2.0, 30.0]];
        let wanted = [1.0, -2.0, 3.0];
        let gradient = |w: &[f64]| -> Vec<f64> {
            let off: Vec<f64> = w.iter().zip(wanted).map(|(w, x)| w - x).collect();
            hessian.iter().map(|line| dot(line, &off)).collect()
        };
        let (mut memory, mut w) = (Memory::default(), vec![0.0; 3]);
        for _ in 0..40 {
            let g = gradient(&w);
            memory.note(&w, &g);
            let mut step: Vec<f64> = g.iter().map(|g| -g).collect();
            // Too large a Hessian in each direction, so that whole steps are never too long.
            memory.direction(&mut step, |x| x.iter_mut().for_each(|x| *x /= 40.0));
            w.iter_mut().zip(&step).for_each(|(w, s)| *w += s);
        }
        assert!(w.iter().zip(wanted).all(|(w, x)| (w - x).abs() < 1e-9), "{w:?}");
    }

    #[test]
    fn a_new_hessian_is_due_where_the_decrement_stays() {
        let mut memory = Memory::default();
        let steps = TRIAL.0;
        assert!((0..steps).all(|_| memory.trial(1.0).is_none()));
        assert_eq!(memory.trial(0.9), Some(true));
        assert!((1..steps).all(|_| memory.trial(0.5).is_none()));
        assert_eq!(memory.trial(0.01), Some(false));
        // Another factor begins anew.
        memory.renew();
        assert!((0..steps).all(|_| memory.trial(1.0).is_none()));
    }
}
