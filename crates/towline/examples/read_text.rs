//! How fast text is read and parsed, without packing it: `read_text FILE [THREADS]`.
use std::time::Instant;

use towline::budget::Budget;
use towline::input::{self, Input, Progress, ReadOptions, RowBatch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let file = arguments.first().ok_or("usage: read_text FILE [THREADS]")?;
    let threads: usize = arguments.get(1).map_or(Ok(1), |n| n.parse())?;
    let options = ReadOptions { threads, ..ReadOptions::default() };
    let (budget, progress) = (Budget::new(1 << 30), Progress::default());
    let begin = Instant::now();
    let mut source = input::open(&[Input::new(file)], &options, &budget, &progress)?;
    let mut batch = RowBatch::default();
    let (mut rows, mut values) = (0, 0);
    while source.next_batch(&mut batch)? {
        rows += batch.rows();
        values += batch.values.len();
    }
    let seconds = begin.elapsed().as_secs_f64();
    let speed = progress.read_bytes() as f64 / seconds / 1e6;
    println!("{rows} rows, {values} values in {seconds:.2} s: {speed:.0} MB/s");
    Ok(())
}
