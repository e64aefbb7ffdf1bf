//! From a file to predictions: pack, fit, look at the certificate, save, predict.
use std::fmt::Write;

use towline::{Fit, pack};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("towline-first-fit-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    // Flats that are large and near the centre are dear.
    let mut table = String::from("size,distance,label\n");
    for k in 0..200u32 {
        let (size, distance) = (30 + k * 37 % 90, k * 53 % 100);
        writeln!(table, "{size},{distance},{}", if size > distance { "dear" } else { "cheap" })?;
    }
    std::fs::write(folder.join("flats.csv"), table)?;
    std::fs::write(folder.join("new.csv"), "size,distance\n100,5\n35,90\n")?;

    let store = pack(folder.join("flats.csv")).memory(256 << 20).to(folder.join("flats.tow"))?;
    let model = Fit::logistic().c(1.0).tolerance(1e-4).memory(256 << 20).run(&store)?;
    println!("objective {:.4}, at most {:.1e} of it above the optimum", model.objective_value(), model.gap());
    model.save(folder.join("flats.towm"))?;
    for (row, found) in model.predict(folder.join("new.csv"))?.enumerate() {
        println!("row {row}: {}", found?);
    }
    assert!(model.is_converged());
    let labels: Result<Vec<_>, _> = model.predict(folder.join("new.csv"))?.collect();
    assert_eq!(labels?.iter().map(ToString::to_string).collect::<Vec<_>>(), ["dear", "cheap"]);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
