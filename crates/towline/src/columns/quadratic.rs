//! The quadratic model of the losses at w, minimised over a working set of columns, one part at a time.
//!
//! ```text
//! q(d) = Σ_i [s_i (Xd)_i + ½ h_i (Xd)_i²] + R(w + d)      s = cL'(z), h = cL''(z)
//! one part:  w_g ← prox_{R/H}(w_g - X_gᵀr / H),   r = s + h·Xd,   H = Σ_{j in g} Σ_i h_i x_ij²
//! ```
//! H is the trace of the part's Hessian, and no less than its largest eigenvalue; for a single coordinate the step is exact (Friedman et al. 2010, as
//! LIBLINEAR's newGLMNET by Yuan et al. 2012). What is kept is r: a visit that moves nothing costs one product, and most visits are such.
use super::design::Design;
use super::extrapolation::{ITERATES, extrapolate};
use super::parts::Parts;

/// A part and its H.
#[derive(Clone, Copy, Debug)]
pub struct Visited {
    /// The part.
    pub part: u32,
    /// H.
    pub curvature: f64,
}

/// The weight of the constant feature, if no penalty is on it.
#[derive(Clone, Copy, Debug)]
pub struct Intercept {
    /// H.
    pub curvature: f64,
    /// A proximal term of its own.
    pub free: Free,
}

/// `strength/2 (b - towards)²` for an intercept b; nothing with a strength of 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Free {
    /// Where it pulls.
    pub towards: f64,
    /// How hard.
    pub strength: f64,
}

impl Free {
    /// What b costs.
    pub fn value(&self, b: f64) -> f64 {
        0.5 * self.strength * (b - self.towards) * (b - self.towards)
    }
}

/// The model, and where its minimiser is so far.
pub struct Quadratic<'a, P> {
    /// X.
    pub design: Design<'a>,
    /// R.
    pub parts: &'a P,
    /// h.
    pub h: &'a [f64],
    /// r.
    pub r: &'a mut [f64],
    /// w + d.
    pub w: &'a mut [f64],
    /// An intercept is free of the penalty, and always visited.
    pub intercept: Option<Intercept>,
    /// Values that were looked at.
    pub looked_at: u64,
    old: Vec<f64>,
    new: Vec<f64>,
    /// r before an extrapolation.
    kept: Vec<f64>,
}

/// Sweeps over what is not 0 between two over the whole working set.
const INNER: u32 = 20;
/// Columns whose iterates are always kept; beyond that, as many as there is room for beside the weights.
const ROOM: usize = 4096;

impl<'a, P: Parts> Quadratic<'a, P> {
    /// The model at `w`, with `r` being the slopes there.
    pub fn new(design: Design<'a>, parts: &'a P, h: &'a [f64], r: &'a mut [f64], w: &'a mut [f64]) -> Self {
        Quadratic {
            design,
            parts,
            h,
            r,
            w,
            intercept: None,
            looked_at: 0,
            old: Vec::new(),
            new: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// H of a part.
    pub fn curvature(&mut self, part: u32) -> f64 {
        let members = self.parts.members(&part);
        members.iter().map(|&j| self.looked_at += self.design.len(j as usize) as u64).for_each(drop);
        members.iter().map(|&j| self.design.curvature(j as usize, self.h)).sum()
    }

    /// Sweeps until violations have fallen to `fraction` of those of the first sweep, but at most `most` times.
    pub fn solve(&mut self, visited: &[Visited], fraction: f64, most: u32) {
        let mut sweeps = 0;
        let mut target = 0.0;
        let mut active = Vec::with_capacity(visited.len());
        while sweeps < most {
            let violation = self.sweep(visited);
            sweeps += 1;
            if sweeps == 1 {
                target = fraction * violation;
            }
            if violation <= target {
                break;
            }
            let is_active = |v: &&Visited| self.parts.members(&v.part).iter().any(|&j| self.w[j as usize] != 0.0);
            active.clear();
            active.extend(visited.iter().filter(is_active));
            sweeps += self.solve_active(&active, target, INNER.min(most - sweeps));
        }
    }

    /// The same for parts that are not 0, extrapolating now and then.
    fn solve_active(&mut self, active: &[Visited], target: f64, most: u32) -> u32 {
        let parts = self.parts;
        let columns = active.iter().flat_map(|visited| parts.members(&visited.part)).map(|&j| j as usize);
        let columns: Vec<usize> = columns.chain(self.intercept.map(|_| self.design.constant())).collect();
        let room = self.w.len() / ITERATES / 2 + ROOM;
        let mut iterates: Vec<Vec<f64>> = Vec::new();
        for sweep in 1..=most {
            if columns.len() <= room {
                iterates.push(columns.iter().map(|&j| self.w[j]).collect());
            }
            if iterates.len() == ITERATES {
                if let Some(further) = extrapolate(&iterates) {
                    self.try_weights(active, &columns, &further);
                }
                iterates.clear();
            }
            if self.sweep(active) <= target {
                return sweep;
            }
        }
        most
    }

    /// Goes to these weights if the model is less there.
    fn try_weights(&mut self, active: &[Visited], columns: &[usize], weights: &[f64]) {
        let before = self.value(active);
        let kept: Vec<f64> = columns.iter().map(|&j| self.w[j]).collect();
        self.kept.clear();
        self.kept.extend_from_slice(self.r);
        for ((&j, &new), &old) in columns.iter().zip(weights).zip(&kept) {
            self.w[j] = new;
            self.design.add_weighted_to(j, self.r, self.h, new - old);
            self.looked_at += self.design.len(j) as u64;
        }
        if self.value(active) >= before {
            self.r.copy_from_slice(&self.kept);
            columns.iter().zip(&kept).for_each(|(&j, &old)| self.w[j] = old);
        }
    }

    /// q, but for what is the same for all d: `Σ r²/2h + R`, since r = s + h·Xd.
    fn value(&self, active: &[Visited]) -> f64 {
        let squares = self.r.iter().zip(self.h).filter(|(_, h)| **h > 0.0).map(|(r, h)| r * r / h);
        let penalties = active.iter().map(|visited| self.parts.value(visited.part, self.w));
        let free = self.intercept.map_or(0.0, |intercept| intercept.free.value(self.w[self.design.constant()]));
        0.5 * squares.sum::<f64>() + penalties.sum::<f64>() + free
    }

    /// Visits parts in turn, and returns the largest violation that was met: how far the gradient of a part moved.
    fn sweep(&mut self, visited: &[Visited]) -> f64 {
        let mut most = self.visit_intercept();
        for (k, &Visited { part, curvature }) in visited.iter().enumerate() {
            if let Some(next) = visited.get(k + 1).and_then(|next| self.parts.members(&next.part).first()) {
                self.design.prefetch(*next as usize);
            }
            if curvature > 0.0 {
                most = most.max(self.visit(part, curvature));
            }
        }
        most
    }

    fn visit_intercept(&mut self) -> f64 {
        let Some(Intercept { curvature, free }) = self.intercept else { return 0.0 };
        let constant = self.design.constant();
        let slope = self.design.dot(constant, self.r) + free.strength * (self.w[constant] - free.towards);
        let step = -slope / (curvature + free.strength);
        if !step.is_finite() {
            return 0.0;
        }
        self.w[constant] += step;
        self.design.add_weighted_to(constant, self.r, self.h, step);
        self.looked_at += self.design.rows() as u64;
        slope.abs()
    }

    #[inline]
    fn visit(&mut self, part: u32, curvature: f64) -> f64 {
        let Quadratic { design, parts, h, r, w, old, new, looked_at, .. } = self;
        let members = parts.members(&part);
        old.clear();
        new.clear();
        for &j in members {
            let j = j as usize;
            old.push(w[j]);
            new.push(w[j] - design.dot(j, r) / curvature);
            *looked_at += design.len(j) as u64;
        }
        parts.prox(part, 1.0 / curvature, new);
        let mut moved = 0.0;
        for ((&j, &old), &new) in members.iter().zip(&*old).zip(&*new) {
            if new != old {
                w[j as usize] = new;
                design.add_weighted_to(j as usize, r, h, new - old);
                *looked_at += design.len(j as usize) as u64;
                moved += (new - old) * (new - old);
            }
        }
        curvature * moved.sqrt()
    }
}
