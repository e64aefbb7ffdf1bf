//! Going on, paths, validation and streams through the front door.

use std::sync::Arc;

use crate::front::{dense, libsvm, scratch};
use towline::budget::Budget;
use towline::cv::{self, Folds};
use towline::input::{self, Input, Progress, ReadOptions};
use towline::loss::AnyLoss;
use towline::model::{Model, ModelError};
use towline::objective::Objective;
use towline::stop::Stop;
use towline::store::MemoryStore;
use towline::stream::{self, StreamOptions, StreamReport, Watch};
use towline::trainer::{self, Observer, PathState, Status, Step, Task, TrainOptions, WeightsNow};
use towline::{Fit, FitError, Regularizer, pack};

/// Keeps what is said.
#[derive(Default)]
struct Listener {
    notes: Vec<String>,
    steps: u32,
}

impl Observer for Listener {
    fn step(&mut self, _step: &Step, _weights: &WeightsNow) {
        self.steps += 1;
    }

    fn note(&mut self, text: &str) {
        self.notes.push(text.to_string());
    }
}

#[test]
fn a_run_that_was_stopped_goes_on_from_its_checkpoint() {
    let folder = scratch("resume");
    libsvm(&folder.join("train.svm"), 400);
    let store = pack(folder.join("train.svm")).to(folder.join("train.tow")).unwrap();
    let model = folder.join("m.towm");
    let fit = Fit::hinge().c(10.0).tolerance(1e-8).order(towline::order::OrderName::Permutation);
    let short = fit.clone().max_passes(3).run_to(&store, &model, &mut ()).unwrap();
    assert_eq!(short.status, Status::OutOfPasses);
    let mut listener = Listener::default();
    let header = fit.run_to(&store, &model, &mut listener).unwrap();
    assert!(listener.notes.iter().any(|note| note.starts_with("going on from")), "{:?}", listener.notes);
    assert!(listener.steps > 0);
    assert_eq!(header.status, Status::Converged);
    let visits = |header: &towline::model::Header| header.cost.visits;
    // Nothing is left to do for the same call, and all of it for one that begins anew.
    let done = fit.run_to(&store, &model, &mut ()).unwrap();
    assert!(visits(&done) < visits(&header) / 10, "{} {}", visits(&done), visits(&header));
    let mut anew = Listener::default();
    let again = fit.clone().restart().run_to(&store, &model, &mut anew).unwrap();
    assert!(!anew.notes.iter().any(|note| note.starts_with("going on from")));
    assert!(visits(&again) > 10 * visits(&done));
    // Another C starts from there, too.
    let warm = fit.clone().c(12.0).warm_start(&model).run(&store).unwrap();
    let cold = fit.c(12.0).run(&store).unwrap();
    assert!((warm.objective_value() - cold.objective_value()).abs() < 1e-6 * cold.objective_value());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_fit_starts_from_the_state_of_another() {
    let rows = dense(150, true);
    let fit = Fit::hinge().tolerance(1e-8).intercept(false).solver(towline::trainer::Solver::Dual);
    let first = fit.clone().keep_state(true).run(&rows).unwrap();
    assert_eq!((first.state().len(), first.state()[0].duals.len()), (1, 150));
    let again = fit.clone().start_from(first.state().to_vec()).run(&rows).unwrap();
    assert!(again.header.cost.visits < first.header.cost.visits);
    let error = Fit::softmax().start_from(Vec::new()).run(&rows).unwrap_err().to_string();
    assert!(error.contains("start from one of the same classes"), "{error}");
}

#[test]
fn a_stop_ends_a_fit_with_a_model() {
    let rows = dense(150, true);
    let stop = Stop::default();
    stop.request();
    let fit = Fit::hinge().c(1e4).tolerance(1e-12).intercept(false).solver(trainer::Solver::Dual).stop(stop);
    match fit.run(&rows) {
        Ok(model) => assert_eq!(model.header.status, Status::Interrupted),
        Err(FitError::Train(error)) => assert!(error.to_string().contains("interrupted"), "{error}"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_path_is_that_of_the_trainer_and_goes_on() {
    let rows = dense(120, false);
    let fit = Fit::squared().penalty(Regularizer::L1).intercept(false).tolerance(1e-7);
    let lambdas = [20.0, 5.0, 1.0];
    let models = fit.clone().path().lambdas(lambdas).run(&rows).unwrap();
    let base = fit.clone().lambda(1.0).objective(&rows).unwrap();
    let of = |lambda: f64| Objective { penalty: base.penalty.with_lambda(lambda), ..base.clone() };
    let mut options = TrainOptions { tolerance: 1e-7, ..TrainOptions::new(of(20.0)) };
    options.tasks = lambdas.iter().map(|&lambda| Task::new(of(lambda))).collect();
    let mut expected = Vec::new();
    let store = Arc::new(MemoryStore::resident(rows.block().clone()));
    let each = &mut |_: usize, found: &[trainer::Trained]| {
        expected.extend(found.iter().map(|model| model.certificate.objective));
        Ok::<(), trainer::TrainError>(())
    };
    trainer::path(store, &options, PathState::of(1), &Budget::unlimited(), &mut (), each).unwrap();
    let found: Vec<f64> = models.iter().map(|model| model.objective_value()).collect();
    assert_eq!(found, expected);

    let folder = scratch("path");
    libsvm(&folder.join("train.svm"), 200);
    let store = pack(folder.join("train.svm")).to(folder.join("train.tow")).unwrap();
    let path = Fit::logistic().penalty(Regularizer::L1).path().points(6).lambda_ratio(0.05);
    let whole = path.run_to(&store, &folder, &mut ()).unwrap();
    assert_eq!((whole.points.len(), whole.resumed), (6, 0));
    assert!(whole.points.iter().all(|point| point.file.exists()));
    let again = path.run_to(&store, &folder, &mut ()).unwrap();
    assert_eq!((again.points.len(), again.resumed), (6, 6));
    for (fit, expected) in [
        (Fit::logistic().path(), "with the l2 penalty they never are"),
        (Fit::logistic().penalty(Regularizer::L1).lambda(2.0).path(), "`lambda` is what changes along a path"),
        (Fit::hinge().truncate(1.0).path(), "leave `truncate` out"),
        (Fit::logistic().path().cs([]), "at least one point"),
        (Fit::logistic().penalty(Regularizer::L1).path().lambda_ratio(2.0), "`lambda_ratio` must be"),
    ] {
        let error = fit.run(&store).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn validation_is_that_of_the_parts() {
    let rows = dense(120, true);
    let cs = [0.1, 1.0];
    let fit = Fit::logistic().intercept(false).tolerance(1e-6);
    let found = fit.clone().cross_validate().cs(cs).folds(3).run(&rows).unwrap();
    let objectives: Vec<Objective> = cs.iter().map(|&c| fit.clone().c(c).objective(&rows).unwrap()).collect();
    let how = TrainOptions { tolerance: 1e-6, ..TrainOptions::new(objectives[0].clone()) };
    let store = Arc::new(MemoryStore::resident(rows.block().clone()));
    let folds = Arc::new(Folds::new(3, 0, false));
    let expected =
        cv::cross_validate(store, &objectives, folds, cv::Comparison::default(), &how, &Budget::unlimited(), &mut ())
            .unwrap();
    let scores = |found: &cv::Validated| found.points.iter().map(|point| point.scores.clone()).collect::<Vec<_>>();
    assert_eq!((scores(&found), found.best), (scores(&expected), expected.best));
    let both = fit.clone().cross_validate().and(Fit::hinge().intercept(false)).cs(cs).folds(3).run(&rows).unwrap();
    assert_eq!(both.points.len(), 4);
    let error = fit.clone().cross_validate().and(Fit::squared()).run(&rows).unwrap_err().to_string();
    assert!(error.contains("no score in common"), "{error}");
    let error = fit.cross_validate().folds(1000).run(&rows).unwrap_err().to_string();
    assert!(error.contains("cannot be divided into 1000 folds"), "{error}");
}

struct Nobody;

impl Watch for Nobody {
    fn step(&mut self, _report: &StreamReport) {}

    fn save(&mut self, _model: &Model) -> Result<(), ModelError> {
        Ok(())
    }
}

#[test]
fn a_stream_is_that_of_the_parts() {
    let folder = scratch("stream");
    let file = folder.join("train.svm");
    libsvm(&file, 300);
    let budget = || Budget::new(32 << 20);
    let model = Fit::hinge().c(0.5).threads(1).budget(budget()).stream().run(&file).unwrap();
    let options = StreamOptions { threads: 1, ..StreamOptions::new(AnyLoss::named("hinge").unwrap(), 0.5) };
    let reading = ReadOptions { threads: 1, ..ReadOptions::default() };
    let source = input::open(&[Input::File(file.clone())], &reading, &budget(), &Progress::default()).unwrap();
    let (expected, _) = stream::stream(source, &options, None, &folder, &budget(), &mut Nobody).unwrap();
    assert_eq!((model.weights.len(), model.header.status), (expected.weights.len(), Status::Streamed));
    assert!(model.gap().is_nan(), "a stream has no certificate");
    for (stream, expected) in [
        (Fit::hinge().tolerance(1e-3).stream(), "`tolerance` has no meaning for a stream"),
        (Fit::hinge().penalty(Regularizer::L1).stream(), "`penalty` has no meaning for a stream"),
        (Fit::hinge().stream().rows(5), "`rows` is for `method(pegasos)` and sgd"),
    ] {
        let error = stream.run(&file).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
