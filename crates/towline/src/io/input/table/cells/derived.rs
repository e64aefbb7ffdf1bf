//! Cells of which several features are made: text, lists and dates.
use super::RowWriter;
#[cfg(feature = "arrow")]
use super::mistakes::unlike_its_column;
use super::mistakes::{CellError, not_finite, not_utf8};
use crate::input::table::plan::Column;
use crate::input::table::words;
use crate::input::table::written::{self, Moment, WEEKDAYS};
use crate::schema::{DateForm, Weighting, Words};

/// Appends what stands for a level or an n-gram: some bits of its hash.
pub(super) fn push_hashed(name: &mut Vec<u8>, text: &[u8], bits: u8) {
    let hash = xxhash_rust::xxh3::xxh3_64(text) & ((1 << bits) - 1);
    name.extend_from_slice(format!("#{hash}").as_bytes());
}

impl RowWriter<'_> {
    /// The n-grams of a text with their counts.
    pub(super) fn text_cell(&mut self, column: &Column, content: &[u8], rule: Words) -> Result<(), CellError> {
        let Column { name: column, hash_bits, stop, .. } = column;
        let text = std::str::from_utf8(content).map_err(|_| not_utf8(column))?;
        let (name, grams, names) = (&mut self.name, &mut self.grams, &mut self.batch.names);
        name.clear();
        name.extend_from_slice(column.as_bytes());
        name.push(b':');
        let prefix = name.len();
        grams.clear();
        words::each_gram(text, (rule, stop.as_deref()), &mut self.buffers, |gram| {
            name.truncate(prefix);
            match hash_bits {
                Some(bits) => push_hashed(name, gram.as_bytes(), *bits),
                None => name.extend_from_slice(gram.as_bytes()),
            }
            grams.push((names.intern(name), grams.len() as u32));
        });
        grams.sort_unstable();
        self.counted.clear();
        self.counted.extend(grams.chunk_by(|a, b| a.0 == b.0).map(|same| (same[0].1, same[0].0, same.len())));
        // In the order of the text: a row has the same sums whatever other rows come with it.
        self.counted.sort_unstable();
        let count = |times: usize| if rule.weighting == Weighting::Binary { 1.0 } else { times as f64 };
        let squares = || self.counted.iter().map(|&(_, _, times)| count(times) * count(times)).sum::<f64>();
        let length = if rule.is_unit_length() { squares().sqrt() } else { 1.0 };
        for &(_, key, times) in &self.counted {
            self.batch.keys.push(u64::from(key));
            self.batch.values.push(self.precision.round(count(times) / length));
        }
        Ok(())
    }

    /// A list, of which some items may be absent: texts are a bag, and numbers have their places.
    pub(crate) fn bag<'i>(
        &mut self,
        column: &Column,
        items: impl Iterator<Item = Option<Result<f64, &'i [u8]>>>,
    ) -> Result<(), CellError> {
        let first = self.batch.values.len();
        for (index, item) in items.enumerate() {
            match item {
                None => {}
                Some(Ok(value)) => {
                    let place = format!("[{index}]");
                    let key = self.feature(&column.name, |name| name.extend_from_slice(place.as_bytes()))?;
                    self.value(key, &column.name, value)?;
                }
                Some(Err(text)) if self.missing.is_text(text) => {}
                Some(Err(text)) => {
                    let key = self.level(column, text)?;
                    self.one(key);
                }
            }
        }
        self.batch.add_up(first, &mut self.order);
        Ok(())
    }

    pub(super) fn date_cell(&mut self, column: &Column, content: &[u8], form: DateForm) -> Result<(), CellError> {
        match written::date_as(content, form) {
            Some(moment) => self.moment(column, moment, form),
            None => self.spoiler(column, content),
        }
    }

    /// A date, as so many days since 1970.
    #[cfg(feature = "arrow")]
    pub(crate) fn days(&mut self, column: &Column, days: f64, form: DateForm) -> Result<(), CellError> {
        match Moment::of_days(days) {
            Some(moment) => self.moment(column, moment, form),
            None => Err(unlike_its_column(column, days.to_string().as_bytes())),
        }
    }

    fn moment(&mut self, column: &Column, moment: Moment, form: DateForm) -> Result<(), CellError> {
        let name = column.name.as_str();
        self.number(column, moment.days)?;
        if form.cyclic {
            return self.rounds(name, moment, form);
        }
        let month = self.feature(name, |name| name.extend_from_slice(format!(".month={}", moment.month).as_bytes()))?;
        self.one(month);
        let weekday = WEEKDAYS[moment.weekday];
        let weekday = self.feature(name, |name| name.extend_from_slice(format!(".weekday={weekday}").as_bytes()))?;
        self.one(weekday);
        if form.time {
            let hour =
                self.feature(name, |name| name.extend_from_slice(format!(".hour={}", moment.hour).as_bytes()))?;
            self.one(hour);
        }
        Ok(())
    }

    /// Square, cube and so on of a number.
    pub(super) fn powers(&mut self, column: &Column, value: f64) -> Result<(), CellError> {
        for (&slot, power) in column.powers.iter().zip(2..) {
            self.value(self.keys[slot], &column.name, value.powi(power))?;
        }
        Ok(())
    }

    /// The bin that a number falls into, from its edge on and below the next one; a column without edges has none.
    #[cold]
    pub(super) fn bin(&mut self, column: &Column, value: f64) -> Result<(), CellError> {
        let edges = column.bins.as_slice();
        if edges.is_empty() {
            return Ok(());
        }
        if value.is_nan() {
            return Err(not_finite(&column.name, value));
        }
        let above = edges.partition_point(|&edge| edge <= value);
        let edge = |at: usize| edges.get(at).map_or(String::new(), f64::to_string);
        let bin = format!("={}..{}", above.checked_sub(1).map_or(String::new(), edge), edge(above));
        let key = self.feature(&column.name, |name| name.extend_from_slice(bin.as_bytes()))?;
        self.one(key);
        Ok(())
    }

    /// Month, weekday and hour as sine and cosine of the part of a round: December is next to January.
    fn rounds(&mut self, column: &str, moment: Moment, form: DateForm) -> Result<(), CellError> {
        let month = (".month", f64::from(moment.month - 1) / 12.0);
        let weekday = (".weekday", moment.weekday as f64 / 7.0);
        let hour = form.time.then_some((".hour", f64::from(moment.hour) / 24.0));
        for (part, share) in [month, weekday].into_iter().chain(hour) {
            let (sin, cos) = (share * std::f64::consts::TAU).sin_cos();
            for (wave, value) in [(".sin", sin), (".cos", cos)] {
                let key = self.feature(column, |name| {
                    name.extend_from_slice(part.as_bytes());
                    name.extend_from_slice(wave.as_bytes());
                })?;
                self.value(key, column, value)?;
            }
        }
        Ok(())
    }
}
