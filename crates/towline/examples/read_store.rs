//! How fast the blocks of a store are read and decoded into resident rows, by one thread.
//!
//! ```text
//! cargo run --release --example read_store -- STORE [PASSES]
//! ```
//! A first pass brings the store into the page cache and is not counted. One JSON object comes out; a gigabyte is 1e9
//! bytes of decoded rows at 8 bytes a value, whatever the rows take in memory.
use std::error::Error;
use std::time::Instant;

use towline::block::Block;
use towline::store::{BlockId, BlockStore, DiskStore, ReadBuffers};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("usage: read_store STORE [PASSES]")?;
    let passes: usize = arguments.get(1).map_or(Ok(3), |n| n.parse())?;
    let store = DiskStore::open(path)?;
    let shape = store.shape();
    let mut block = Block::new(shape.layout, shape.columns as usize);
    let mut buffers = ReadBuffers::default();
    let mut read_all = || -> Result<(f64, u64), Box<dyn Error>> {
        let begin = Instant::now();
        let mut values = 0;
        for number in 0..store.blocks().len() as u32 {
            block.clear();
            store.read(BlockId(number), &mut buffers, &mut block)?;
            values += block.values() as u64;
        }
        Ok((begin.elapsed().as_secs_f64(), values))
    };
    read_all()?;
    let mut seconds = Vec::new();
    for _ in 0..passes {
        let (elapsed, values) = read_all()?;
        assert_eq!(values, shape.values);
        seconds.push(elapsed);
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    let stored_bytes: u64 = store.blocks().iter().map(|b| b.stored_bytes).sum();
    println!(
        "{}",
        serde_json::json!({
            "values": shape.values,
            "stored_bytes": stored_bytes,
            "seconds": seconds,
            "median_seconds": median,
            "decoded_gb_per_second": 8.0 * shape.values as f64 / median / 1e9,
            "stored_gb_per_second": stored_bytes as f64 / median / 1e9,
        })
    );
    Ok(())
}
