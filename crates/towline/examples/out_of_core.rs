//! More data than memory: the same fit in a budget that holds a part of the rows, with progress, and going on after a
//! stop.
use std::fmt::Write;

use towline::trainer::{Observer, Status, Step, WeightsNow};
use towline::{Fit, pack};

/// Prints a line per step.
struct Progress;

impl Observer for Progress {
    fn step(&mut self, step: &Step, _weights: &WeightsNow) {
        if let Some(certificate) = step.certificate {
            let (passes, read) = (step.cost.passes, step.cost.bytes_read);
            println!("{passes} passes, {read} bytes read, gap {:.1e}", certificate.relative_gap());
        }
    }

    fn note(&mut self, text: &str) {
        println!("note: {text}");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("towline-out-of-core-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut text = String::new();
    for k in 0..20_000u64 {
        let feature = |i: u64| (10 * k + i).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
        let mut row: Vec<u64> = (0..10).map(feature).collect();
        row.sort_unstable();
        row.dedup();
        let label = if row.iter().filter(|&&j| j % 3 == 0).count() > 3 { "+1" } else { "-1" };
        text += label;
        row.iter().try_for_each(|j| write!(text, " {}:1", j + 1))?;
        text.push('\n');
    }
    std::fs::write(folder.join("clicks.svm"), text)?;

    let store = pack(folder.join("clicks.svm")).memory(64 << 20).to(folder.join("clicks.tow"))?;
    let model = folder.join("clicks.towm");
    let fit = Fit::hinge().c(0.1).tolerance(1e-3).memory(24 << 20);
    // A run that ends early keeps its state beside the model, and the same call goes on from there.
    let header = fit.clone().max_passes(2).run_to(&store, &model, &mut Progress)?;
    println!("{:?} after {} passes", header.status, header.cost.passes);
    let header = fit.run_to(&store, &model, &mut Progress)?;
    println!("{:?} after {} passes", header.status, header.cost.passes);
    assert_eq!(header.status, Status::Converged);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
