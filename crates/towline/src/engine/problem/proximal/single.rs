//! One weight per column.
use super::Proximal;
use crate::block::Row;
use crate::engine::certificate::Certificate;
use crate::engine::certificate::proximal::{ProximalScan, Scanned};
use crate::engine::problem::link::Link;
use crate::loss::Loss;
use crate::penalty::LazyProx;
use crate::prefetch::large_zeroed;
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

impl<P: LazyProx> Link for Proximal<P> {
    const IS_PROXIMAL: bool = true;

    fn see(&mut self, rows: &[RowState]) {
        self.see_rows(rows.iter().map(|state| (state.c, state.sq_norm)));
    }

    fn sweeps(&self) -> u32 {
        self.sweeps_of_a_step()
    }

    fn advance(&mut self) -> f64 {
        self.move_centre()
    }

    fn begin_scan(&mut self, dual_sums: [f64; 2]) {
        let scales = self.scales();
        let balanced = self.summed && self.intercept && self.is_bounded();
        self.scan = ProximalScan::new(balanced.then_some(dual_sums));
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

    /// The proximal steps themselves are looked at instead.
    fn remember(&mut self) -> bool {
        false
    }

    fn remembered(&self) -> &[f64] {
        &self.w
    }

    fn weights(&self) -> &[f64] {
        &self.w
    }

    fn to_save(&self) -> &[f64] {
        &self.w
    }

    fn into_weights(self) -> Vec<f64> {
        self.w
    }

    fn sum_of(&self, column: usize) -> f64 {
        self.sum_at(column)
    }

    fn rest(&mut self) {
        for vector in [&mut self.u, &mut self.centre, &mut self.w, &mut self.v] {
            *vector = Vec::new();
        }
    }

    fn begin_at(&mut self, columns: &[u32], weights: &[f64], sums: &[f64]) {
        for vector in [&mut self.u, &mut self.centre, &mut self.w, &mut self.v] {
            *vector = large_zeroed(self.length);
        }
        let last = self.length - 1;
        let columns = || columns.iter().map(|&j| j as usize).chain([last]);
        columns().zip(weights).for_each(|(j, &w)| (self.w[j], self.centre[j]) = (w, w));
        for j in 0..self.length {
            self.set_sum(j, 0.0);
        }
        columns().zip(sums).for_each(|(j, &sum)| self.set_sum(j, sum));
        self.summed = false;
        self.renew();
    }

    fn sums(&mut self) -> Vec<f64> {
        self.take_sums()
    }
}
