//! The dot product and the addition of a row against loops written by hand over arrays with the same contents.
//!
//! ```text
//! cargo run --release --example row_kernels -- STORE [REPETITIONS] [MEGABYTES]
//! ```
//! Rows are taken from the store until they fill MEGABYTES (256). Each repetition visits every row once with [`Row`]'s
//! kernels and once with each loop; the three take turns, so that a slow moment of the machine hits all of them. The
//! loops are what a C programmer writes: no bounds checks, one sum, and the same with four sums. The JSON that comes
//! out compares medians with the faster of the two.
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use towline::block::{Block, Layout, Row, ValueKind};
use towline::store::{BlockId, BlockStore, DiskStore, ReadBuffers};

/// The rows as plain arrays.
struct Arrays {
    layout: Layout,
    ends: Vec<usize>,
    indices: Vec<u32>,
    singles: Vec<f32>,
    doubles: Vec<f64>,
}

impl Arrays {
    fn copy(block: &Block) -> Arrays {
        let layout = block.layout();
        let (ends, indices) = (Vec::new(), Vec::new());
        let mut arrays = Arrays { layout, ends, indices, singles: Vec::new(), doubles: Vec::new() };
        let mut end = 0;
        for i in 0..block.rows() {
            let row: Row = block.row(i);
            end += row.len();
            arrays.ends.push(end);
            for (column, value) in row.iter() {
                if !layout.dense {
                    arrays.indices.push(column);
                }
                match layout.values {
                    ValueKind::Ones | ValueKind::PerRow => {}
                    ValueKind::F32 => arrays.singles.push(value as f32),
                    ValueKind::F64 => arrays.doubles.push(value),
                }
            }
            if layout.values == ValueKind::PerRow {
                arrays.doubles.push(row.iter().next().map_or(1.0, |(_, value)| value));
            }
        }
        arrays
    }

    /// Visits every row: w += 1e-12 (w·x) x, with `SUMS` partial sums.
    #[inline(never)]
    fn visit<const SUMS: usize>(&self, w: &mut [f64]) {
        let mut start = 0;
        for (i, &end) in self.ends.iter().enumerate() {
            let range = start..end;
            start = end;
            let columns = if self.layout.dense { &[][..] } else { &self.indices[range.clone()] };
            // SAFETY: the columns come from a block whose columns are all below w.len(), and arrays agree in length.
            unsafe {
                match (self.layout.dense, self.layout.values) {
                    (false, ValueKind::Ones) => by_hand::<SUMS>(w, columns.len(), |k| at(columns, k), |_| 1.0),
                    (false, ValueKind::PerRow) => {
                        let value = self.doubles[i];
                        by_hand::<SUMS>(w, columns.len(), |k| at(columns, k), |_| value);
                    }
                    (false, ValueKind::F32) => {
                        let values = &self.singles[range];
                        by_hand::<SUMS>(w, columns.len(), |k| at(columns, k), |k| *values.get_unchecked(k) as f64);
                    }
                    (false, ValueKind::F64) => {
                        let values = &self.doubles[range];
                        by_hand::<SUMS>(w, columns.len(), |k| at(columns, k), |k| *values.get_unchecked(k));
                    }
                    (true, ValueKind::F32) => {
                        let values = &self.singles[range];
                        by_hand::<SUMS>(w, values.len(), |k| k, |k| *values.get_unchecked(k) as f64);
                    }
                    (true, _) => {
                        let values = &self.doubles[range];
                        by_hand::<SUMS>(w, values.len(), |k| k, |k| *values.get_unchecked(k));
                    }
                }
            }
        }
    }
}

/// # Safety
/// `k` is below the number of columns.
#[inline(always)]
unsafe fn at(columns: &[u32], k: usize) -> usize {
    // SAFETY: the caller promises it.
    unsafe { *columns.get_unchecked(k) as usize }
}

/// # Safety
/// For each k below `len`, `column(k)` is below `w.len()` and `value(k)` may be called.
#[inline(always)]
unsafe fn by_hand<const SUMS: usize>(
    w: &mut [f64],
    len: usize,
    column: impl Fn(usize) -> usize,
    value: impl Fn(usize) -> f64,
) {
    let mut sums = [0.0; SUMS];
    let whole = len / SUMS * SUMS;
    let mut k = 0;
    while k < whole {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: as promised.
            *sum += unsafe { *w.get_unchecked(column(k + lane)) } * value(k + lane);
        }
        k += SUMS;
    }
    while k < len {
        // SAFETY: as promised.
        sums[0] += unsafe { *w.get_unchecked(column(k)) } * value(k);
        k += 1;
    }
    let scale = 1e-12 * sums.iter().sum::<f64>();
    for k in 0..len {
        // SAFETY: as promised.
        unsafe { *w.get_unchecked_mut(column(k)) += scale * value(k) };
    }
}

/// The same with the library's kernels.
#[inline(never)]
fn visit(block: &Block, w: &mut [f64]) {
    for i in 0..block.rows() {
        let row = block.row(i);
        let dot = row.dot(w);
        row.add_to(w, 1e-12 * dot);
    }
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("usage: row_kernels STORE [REPETITIONS] [MEGABYTES]")?;
    let repetitions: usize = arguments.get(1).map_or(Ok(15), |n| n.parse())?;
    let most_bytes = arguments.get(2).map_or(Ok(256u64), |n| n.parse())? << 20;
    let store = DiskStore::open(path)?;
    let shape = store.shape();
    let mut block = Block::new(shape.layout, shape.columns as usize);
    let mut buffers = ReadBuffers::default();
    for number in 0..store.blocks().len() as u32 {
        if block.resident_bytes() < most_bytes {
            store.read(BlockId(number), &mut buffers, &mut block)?;
        }
    }
    let arrays = Arrays::copy(&block);
    let start: Vec<f64> = (0..block.columns()).map(|j| (j % 7) as f64 - 3.0).collect();

    // All three must do the same; sums differ in the order of additions only.
    let results: Vec<Vec<f64>> = (0..3)
        .map(|which| {
            let mut w = start.clone();
            run(which, &block, &arrays, &mut w);
            w
        })
        .collect();
    for (j, &ours) in results[0].iter().enumerate() {
        assert!(results[1..].iter().all(|other| (other[j] - ours).abs() <= 1e-9 * (1.0 + ours.abs())), "column {j}");
    }

    let mut seconds = vec![Vec::new(); 3];
    let mut w = start;
    for repetition in 0..repetitions {
        for turn in 0..3 {
            let which = (repetition + turn) % 3;
            let begin = Instant::now();
            run(which, &block, &arrays, &mut w);
            seconds[which].push(begin.elapsed().as_secs_f64());
            black_box(&mut w);
        }
    }
    let [ours, one_sum, four_sums] = [0, 1, 2].map(|which| median(seconds[which].clone()));
    println!(
        "{}",
        serde_json::json!({
            "layout": block.layout(),
            "rows": block.rows(),
            "values": block.values(),
            "repetitions": repetitions,
            "row_seconds": ours,
            "one_sum_seconds": one_sum,
            "four_sums_seconds": four_sums,
            "values_per_second": block.values() as f64 / ours,
            "ratio": ours / one_sum.min(four_sums),
        })
    );
    Ok(())
}

fn run(which: usize, block: &Block, arrays: &Arrays, w: &mut [f64]) {
    match which {
        0 => visit(block, w),
        1 => arrays.visit::<1>(w),
        _ => arrays.visit::<4>(w),
    }
}
