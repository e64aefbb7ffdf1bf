//! Rows become lines of libsvm text, split into training and test data.
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// One row in this many is for testing.
const TEST_SHARE: u64 = 5;

/// FNV-1a, followed by a step of mixing that spreads it over all bits.
pub fn hash(bytes: &[u8]) -> u64 {
    let mut h = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h: u64, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    h ^= h >> 33;
    h = h.wrapping_mul(0xff51_afd7_ed55_8ccd);
    h ^ (h >> 33)
}

/// Log counts of the keys in ascending order, scaled to unit length.
pub fn log_counts(mut keys: Vec<u32>) -> Vec<(u32, f32)> {
    keys.sort_unstable();
    let mut row: Vec<(u32, f32)> = Vec::with_capacity(keys.len() / 2);
    for key in keys {
        match row.last_mut() {
            Some((last, count)) if *last == key => *count += 1.0,
            _ => row.push((key, 1.0)),
        }
    }
    let mut sq_norm = 0.0f64;
    for (_, value) in &mut row {
        *value = (1.0 + *value).ln();
        sq_norm += f64::from(*value).powi(2);
    }
    let scale = if sq_norm > 0.0 { 1.0 / sq_norm.sqrt() } else { 0.0 };
    for (_, value) in &mut row {
        *value = (f64::from(*value) * scale) as f32;
    }
    row
}

/// The two files.
pub struct Output {
    train: BufWriter<File>,
    test: BufWriter<File>,
    rows: usize,
    values: usize,
    line: String,
}

impl Output {
    pub fn create(path: &str) -> Result<Output, String> {
        let open = |ending: &str| {
            let name = format!("{path}.{ending}");
            let file = File::create(&name).map_err(|error| format!("{name}: {error}"))?;
            Ok::<_, String>(BufWriter::with_capacity(1 << 20, file))
        };
        Ok(Output { train: open("train")?, test: open("test")?, rows: 0, values: 0, line: String::new() })
    }

    /// Writes a row with six digits after the point.
    pub fn row(&mut self, name: &str, label: &str, row: &[(u32, f32)]) -> io::Result<()> {
        self.write(name, label, row, 6)
    }

    /// Writes a row of whole values.
    pub fn whole_row(&mut self, name: &str, label: &str, row: &[(u32, f32)]) -> io::Result<()> {
        self.write(name, label, row, 0)
    }

    fn write(&mut self, name: &str, label: &str, row: &[(u32, f32)], digits: usize) -> io::Result<()> {
        if row.is_empty() {
            return Ok(());
        }
        self.line.clear();
        self.line.push_str(label);
        for (index, value) in row {
            // Writing to a string cannot fail.
            let _ = write!(self.line, " {index}:{value:.digits$}");
        }
        self.end_line(name, row.len())
    }

    /// Writes a row of values that are text already.
    pub fn texts<'a>(&mut self, name: &str, label: &str, row: impl Iterator<Item = (u32, &'a str)>) -> io::Result<()> {
        self.line.clear();
        self.line.push_str(label);
        let mut values = 0;
        for (index, value) in row {
            let _ = write!(self.line, " {index}:");
            self.line.push_str(value);
            values += 1;
        }
        if values > 0 { self.end_line(name, values) } else { Ok(()) }
    }

    fn end_line(&mut self, name: &str, values: usize) -> io::Result<()> {
        self.line.push('\n');
        let is_test = hash(name.as_bytes()).is_multiple_of(TEST_SHARE);
        let file = if is_test { &mut self.test } else { &mut self.train };
        self.rows += 1;
        self.values += values;
        file.write_all(self.line.as_bytes())
    }

    /// How many rows and values were written.
    pub fn finish(mut self) -> io::Result<(usize, usize)> {
        self.train.flush()?;
        self.test.flush()?;
        Ok((self.rows, self.values))
    }
}
