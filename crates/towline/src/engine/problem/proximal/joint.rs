//! Several weights side by side for each column.
use super::Proximal;
use crate::block::Row;
use crate::engine::certificate::Certificate;
use crate::engine::certificate::proximal::{ProximalScan, Scanned};
use crate::engine::problem::link::JointLink;
use crate::penalty::{MatrixProx, WholeRow};

impl<P: MatrixProx> Proximal<P> {
    /// A row as the penalty sees it: with a constant feature that is under it, and without an intercept.
    #[inline(always)]
    fn whole<'a>(&self, row: Row<'a>, sq_norm: f64) -> WholeRow<'a> {
        let free = if self.intercept { self.bias * self.bias } else { 0.0 };
        let constant = if self.intercept { 0.0 } else { self.bias };
        WholeRow { row, constant, sq_norm: (sq_norm - free).max(0.0) }
    }
}

impl<P: MatrixProx> JointLink for Proximal<P> {
    fn margins(&self, row: Row, products: &mut [f64], margins: &mut [f64]) {
        self.lazy.margins(&self.u, self.whole(row, 0.0), products, margins);
        if self.intercept {
            let constants = &self.u[self.penalised()..];
            margins.iter_mut().zip(constants).for_each(|(margin, u)| *margin += self.bias * u);
        }
    }

    fn add(&mut self, row: Row, sq_norm: f64, products: &[f64], steps: &mut [(u32, f64)]) {
        if self.intercept {
            let constants = self.penalised();
            let step = self.constant_eta * self.bias;
            steps.iter().for_each(|&(m, delta)| self.u[constants + m as usize] += step * delta);
        }
        if self.eta.is_finite() {
            steps.iter_mut().for_each(|(_, delta)| *delta *= self.eta);
        }
        let whole = self.whole(row, sq_norm);
        self.lazy.add(&mut self.u, whole, products, steps);
    }

    #[inline(always)]
    fn curvature(&self, sq_norm: f64) -> f64 {
        self.curvature_along(sq_norm)
    }

    fn begin_scan(&mut self) -> (ProximalScan, Option<Vec<f64>>) {
        let scales = self.scales();
        let sums = self.is_balanced().then(|| self.v[self.penalised()..].iter().map(|sum| sum / self.bias).collect());
        self.v.fill(0.0);
        let mut scan = ProximalScan::new(None);
        scan.set_scales(scales);
        (scan, sums)
    }

    fn scanned(&mut self) -> Scanned<'_> {
        Proximal::scanned(self)
    }

    fn end_scan(&mut self, scan: ProximalScan) -> Certificate {
        self.finish(scan)
    }
}
