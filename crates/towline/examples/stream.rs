//! Rows that come once: a model from a stream in one pass, and going on from it with more rows.
use std::fmt::Write;

use towline::input::Input;
use towline::model::{Model, ModelError};
use towline::stream::{StreamReport, Watch};
use towline::{Fit, FitError};

/// Prints how well rows were predicted before they were learnt.
struct Progress;

impl Watch for Progress {
    fn step(&mut self, report: &StreamReport) {
        let all = report.all;
        println!(
            "{} rows, {:.1} % right before they were learnt",
            report.rows,
            100.0 * all.right as f64 / all.rows as f64
        );
    }

    fn save(&mut self, _model: &Model) -> Result<(), ModelError> {
        Ok(())
    }
}

fn rows(from: u32) -> String {
    let mut text = String::new();
    for k in from..from + 2000 {
        let (a, b) = (f64::from(k * 37 % 101) / 101.0, f64::from(k * 59 % 103) / 103.0);
        let label = if a > b { "+1" } else { "-1" };
        writeln!(text, "{label} 1:{a:.3} 2:{b:.3}").expect("a string takes any text");
    }
    text
}

fn main() -> Result<(), FitError> {
    let file = std::env::temp_dir().join(format!("towline-stream-{}.svm", std::process::id()));
    let write = |from: u32| std::fs::write(&file, rows(from)).expect("the folder for temporary files is writable");
    write(0);
    let stream = Fit::logistic().c(1.0).memory(64 << 20).stream().progressive(true);
    let (first, _) = stream.run_input(Input::File(file.clone()), None, &stream.budget(), &mut Progress)?;
    write(2000);
    let (second, report) =
        stream.run_input(Input::File(file.clone()), Some(&first), &stream.budget(), &mut Progress)?;
    assert_eq!((second.header.rows, report.all.rows), (4000, 2000));
    assert!(report.all.right > 1800, "{}", report.all.right);
    std::fs::remove_file(&file).expect("it was written above");
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
