//! A lasso path: models from a λ under which all weights are 0 down, each starting from the one before.
use towline::{Fit, FitError, Regularizer, Rows};

fn main() -> Result<(), FitError> {
    // 80 rows of 10 features, two of which make the target.
    let values: Vec<f64> = (0..800u32).map(|k| f64::from(k * 7919 % 1009) / 504.5 - 1.0).collect();
    let targets: Vec<f64> = values.chunks(10).map(|row| 3.0 * row[2] - row[7]).collect();
    let rows = Rows::dense(values, 10, &targets)?;
    let path = Fit::squared().penalty(Regularizer::L1).tolerance(1e-6).path().points(8).lambda_ratio(1e-2);
    let models = path.run(&rows)?;
    for model in &models {
        let lambda = model.header.objective.penalty.lambda();
        println!("λ = {lambda:9.4}: {:2} weights, gap {:.1e}", model.features.len(), model.gap());
    }
    assert_eq!((models[0].features.len(), models.len()), (0, 8));
    assert!(models.iter().all(|model| model.is_converged()));
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
