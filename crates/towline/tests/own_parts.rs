//! Losses and penalties from outside the library, through its public traits: they end at the optimum of their twins
//! inside.
use crate::front::{dense, libsvm, scratch};
use towline::loss::{AnyLoss, Hinge, Loss};
use towline::penalty::{CoordinatePenalty, ElasticNet, Penalty};
use towline::trainer::{self, Status, TrainError};
use towline::{Fit, FitError, Regularizer, pack};

/// The hinge loss as a program outside the library would have it.
#[derive(Clone, Copy)]
struct Outside(Hinge);

impl Loss for Outside {
    fn value(&self, y: f64, z: f64) -> f64 {
        self.0.value(y, z)
    }

    fn slope(&self, y: f64, z: f64) -> f64 {
        self.0.slope(y, z)
    }

    fn conjugate(&self, y: f64, u: f64) -> f64 {
        self.0.conjugate(y, u)
    }

    fn dual_bounds(&self, y: f64, c: f64) -> (f64, f64) {
        self.0.dual_bounds(y, c)
    }

    fn curvature(&self) -> f64 {
        self.0.curvature()
    }

    fn dual_step(&self, y: f64, z: f64, beta: f64, q: f64, c: f64) -> f64 {
        self.0.dual_step(y, z, beta, q, c)
    }

    fn gap(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        self.0.gap(y, z, beta, c)
    }
}

#[test]
fn a_loss_from_outside_has_the_optimum_of_its_twin_inside() {
    let folder = scratch("own-loss");
    libsvm(&folder.join("train.svm"), 3000);
    let store = pack(folder.join("train.svm")).block_bytes(8 << 10).to(folder.join("train.tow")).unwrap();
    for (regularizer, tolerance) in [(Regularizer::L2, 1e-4), (Regularizer::L1, 1e-3)] {
        let fit = Fit::new().penalty(regularizer).bias(1.0).tolerance(tolerance);
        let refused = fit.clone().memory(1).run_own_loss(Outside(Hinge), &store, &mut ()).unwrap_err();
        let FitError::Train(TrainError::Budget(refused)) = refused else { panic!("{refused}") };
        // Out of core and in memory.
        for bytes in [refused.least_bytes + refused.least_bytes / 4, 64 << 20] {
            let fit = fit.clone().memory(bytes);
            let own = fit.run_own_loss(Outside(Hinge), &store, &mut ()).unwrap().remove(0);
            let same = fit.loss(AnyLoss::Hinge(Hinge)).solver(trainer::Solver::Dual).run(&store).unwrap();
            let (certificate, best) = (own.certificate, same.objective_value());
            assert!(own.status == Status::Converged && certificate.relative_gap() <= tolerance, "{certificate:?}");
            assert!((certificate.objective - best).abs() <= tolerance * best, "{certificate:?} {best}");
            assert_eq!(own.cost.passes > 1, bytes < 64 << 20, "{} passes in {bytes} bytes", own.cost.passes);
        }
    }
    let error = Fit::softmax().run_own_loss(Outside(Hinge), &dense(30, true), &mut ()).unwrap_err().to_string();
    assert!(error.contains("one output"), "{error}");
    let error = Fit::hinge().run_own_loss(Outside(Hinge), &store, &mut ()).unwrap_err().to_string();
    assert!(error.contains("leave it out"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// The elastic net, by way of the public traits.
#[derive(Clone)]
struct OutsideNet(ElasticNet);

impl Penalty for OutsideNet {
    fn along(&self, w: &[f64]) -> (f64, f64) {
        self.0.along(w)
    }

    fn prox(&self, eta: f64, u: &mut [f64]) {
        self.0.prox(eta, u);
    }

    fn conjugate(&self, v: &[f64], scale: f64) -> f64 {
        self.0.conjugate(v, scale)
    }

    fn feasible_scale(&self, v: &[f64]) -> f64 {
        self.0.feasible_scale(v)
    }
}

impl CoordinatePenalty for OutsideNet {
    fn prox_at(&self, _j: usize, eta: f64, u: f64) -> f64 {
        let mut w = [u];
        self.0.prox(eta, &mut w);
        w[0]
    }
}

#[test]
fn a_penalty_from_outside_has_the_optimum_of_its_twin_inside() {
    let folder = scratch("own-penalty");
    libsvm(&folder.join("train.svm"), 3000);
    let store = pack(folder.join("train.svm")).block_bytes(8 << 10).to(folder.join("train.tow")).unwrap();
    let net = OutsideNet(ElasticNet { lambda: 2.0, l1_ratio: 0.6 });
    let fit = Fit::squared_hinge().bias(1.0).tolerance(1e-4);
    let refused = fit.clone().memory(1).run_own_penalty(net.clone(), &store, &mut ()).unwrap_err();
    let FitError::Train(TrainError::Budget(refused)) = refused else { panic!("{refused}") };
    for bytes in [refused.least_bytes + refused.least_bytes / 4, 64 << 20] {
        let fit = fit.clone().memory(bytes);
        let own = fit.run_own_penalty(net.clone(), &store, &mut ()).unwrap().remove(0);
        let same = fit.penalty(Regularizer::ElasticNet).lambda(2.0).l1_ratio(0.6).run(&store).unwrap();
        let (certificate, best) = (own.certificate, same.objective_value());
        assert!(own.status == Status::Converged && certificate.relative_gap() <= 1e-4, "{certificate:?}");
        assert!((certificate.objective - best).abs() <= 1e-4 * best, "{certificate:?} {best}");
        assert_eq!(own.cost.passes > 1, bytes < 64 << 20, "{} passes in {bytes} bytes", own.cost.passes);
    }
    // With a loss from outside, and with several outputs in one objective.
    let fit = Fit::new().bias(1.0).tolerance(1e-3);
    let both = fit.run_own(Outside(Hinge), net.clone(), &store, &mut ()).unwrap().remove(0);
    let same = Fit::hinge().bias(1.0).tolerance(1e-3).penalty(Regularizer::ElasticNet).lambda(2.0).l1_ratio(0.6);
    let best = same.run(&store).unwrap().objective_value();
    assert!((both.certificate.objective - best).abs() <= 1e-3 * best, "{:?} {best}", both.certificate);
    let softmax = Fit::softmax().tolerance(1e-4);
    let own = softmax.run_own_penalty(net.clone(), &dense(30, true), &mut ()).unwrap().remove(0);
    let same = softmax.penalty(Regularizer::ElasticNet).lambda(2.0).l1_ratio(0.6).run(&dense(30, true)).unwrap();
    assert!((own.certificate.objective / same.objective_value() - 1.0).abs() <= 1e-4, "{:?}", own.certificate);
    let error = Fit::hinge().penalty(Regularizer::L1).run_own_penalty(net, &store, &mut ()).unwrap_err().to_string();
    assert!(error.contains("`penalty`") && error.contains("leave it out"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}
