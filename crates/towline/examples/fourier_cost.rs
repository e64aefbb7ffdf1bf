//! What it costs to make random Fourier features again, against reading them from a store.
//!
//! ```text
//! cargo run --release --example fourier_cost -- FILE [FEATURES] [ROWS]
//! ```
//! Reads ROWS rows (20,000) of FILE as they are, and once more mapped to FEATURES features (2,000), on one thread each. The difference is what the map
//! costs; a store of the features has 4 bytes for each. The JSON that comes out says at which rate of reading both would take as long.
use std::error::Error;
use std::time::Instant;

use towline::budget::Budget;
use towline::input::{self, FourierMap, Input, Progress, ReadOptions, RowBatch};

/// Seconds for the first rows, how many there were, and their values.
fn read(file: &str, fourier: Option<FourierMap>, most: u64) -> Result<(f64, u64, u64), Box<dyn Error>> {
    let options = ReadOptions { threads: 1, fourier, ..ReadOptions::default() };
    let begin = Instant::now();
    let mut source = input::open(&[Input::new(file)], &options, &Budget::unlimited(), &Progress::default())?;
    let (mut batch, mut rows, mut values) = (RowBatch::default(), 0, 0);
    while rows < most && source.next_batch(&mut batch)? {
        rows += batch.rows() as u64;
        values += batch.values.len() as u64;
    }
    Ok((begin.elapsed().as_secs_f64(), rows, values))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| arguments.get(at).map_or(Ok(default), |text| text.parse::<u64>());
    let file = arguments.first().ok_or("name a file of rows")?;
    let (features, most) = (u32::try_from(number(1, 2000)?)?, number(2, 20_000)?);
    let (raw_seconds, raw_rows, raw_values) = read(file, None, most)?;
    let (mapped_seconds, rows, values) = read(file, Some(FourierMap::new(features, 0.1, 0)?), most)?;
    let each = mapped_seconds / rows as f64 - raw_seconds / raw_rows as f64;
    let report = serde_json::json!({
        "rows": rows,
        "values_per_raw_row": raw_values as f64 / raw_rows as f64,
        "features": features,
        "microseconds_per_row": each * 1e6,
        "stored_bytes_per_row": 4 * values / rows,
        "as_fast_as_reading_mb_per_second": 4.0 * (values / rows) as f64 / each / 1e6,
    });
    println!("{report}");
    Ok(())
}
