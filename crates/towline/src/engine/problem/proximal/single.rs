//! One weight per column.
use super::Proximal;
use crate::block::Row;
use crate::engine::certificate::Certificate;
use crate::engine::certificate::proximal::{ProximalScan, Scanned};
use crate::engine::problem::link::SingleLink;
use crate::loss::Loss;
use crate::penalty::LazyProx;
use crate::solver::{RowState, Weights};

impl<P: LazyProx> Proximal<P> {
    /// The value of the constant feature.
    pub fn bias(&self) -> f64 {
        self.bias
    }

    /// Whether the constant feature is free of the penalty.
    pub fn intercept(&self) -> bool {
        self.intercept
    }

    /// η, and that of an intercept.
    pub fn etas(&self) -> (f64, f64) {
        (self.eta, self.constant_eta)
    }

    /// u = p + ηv.
    pub fn towards(&self) -> &[f64] {
        &self.u
    }

    /// prox(u), all of it.
    pub fn weights_now(&self) -> Vec<f64> {
        (0..self.u.len()).map(|j| self.weight(j)).collect()
    }

    /// R̃*(v), by its maximiser w = prox(u).
    pub fn conjugate(&self) -> f64 {
        let w = self.weights_now();
        let products = w.iter().enumerate().map(|(j, &w)| {
            let off = w - self.centre[j];
            self.sum_at(j) * w - off * off / (2.0 * self.eta_of(j))
        });
        products.sum::<f64>() - self.penalty.value(&w[..self.penalised()])
    }

    /// v ← v + Σ βx.
    pub fn add_rows<'a>(&mut self, rows: impl Iterator<Item = (Row<'a>, f64)>) {
        rows.filter(|(_, beta)| *beta != 0.0).for_each(|(row, beta)| self.add(row, beta));
        self.renew();
    }

    fn last(&self) -> usize {
        self.u.len() - 1
    }

    #[inline(always)]
    fn weight(&self, j: usize) -> f64 {
        if j < self.penalised() { self.lazy.weight(j, self.u[j]) } else { self.u[j] }
    }
}

impl<P: LazyProx> Weights for Proximal<P> {
    #[inline(always)]
    fn margin(&self, row: Row) -> f64 {
        let products = row.dot_mapped(&self.u, |j, u| self.lazy.weight(j, u));
        if self.bias == 0.0 { products } else { products + self.bias * self.weight(self.last()) }
    }

    #[inline(always)]
    fn add(&mut self, row: Row, delta: f64) {
        let step = if self.eta.is_finite() { self.eta * delta } else { delta };
        row.for_each(|j, x| {
            let old = self.u[j as usize];
            let new = old + step * x;
            self.u[j as usize] = new;
            self.lazy.moved(j as usize, old, new);
        });
        if self.bias != 0.0 {
            let last = self.last();
            let old = self.u[last];
            let new = old + self.bias * if self.intercept { self.constant_eta * delta } else { step };
            self.u[last] = new;
            if !self.intercept {
                self.lazy.moved(last, old, new);
            }
        }
    }

    #[inline(always)]
    fn curvature(&self, sq_norm: f64) -> f64 {
        self.curvature_along(sq_norm)
    }
}

impl<P: LazyProx> SingleLink for Proximal<P> {
    fn begin_scan(&mut self, dual_sums: [f64; 2]) {
        let scales = self.scales();
        self.scan = ProximalScan::new(self.is_balanced().then_some(dual_sums));
        self.scan.set_scales(scales);
        self.v.fill(0.0);
    }

    #[inline]
    fn scan<L: Loss>(&mut self, loss: L, row: Row, state: &RowState) -> f64 {
        let Proximal { w, v, penalty, bias, intercept, width, scan, .. } = self;
        let scanned = Scanned { w, v, penalty: &**penalty, bias: *bias, intercept: *intercept, width: *width };
        scan.add(loss, row, state, scanned)
    }

    fn end_scan(&mut self) -> Certificate {
        let scan = std::mem::take(&mut self.scan);
        self.finish(scan)
    }
}
