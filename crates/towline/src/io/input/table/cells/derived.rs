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
    let mut hash = xxhash_rust::xxh3::xxh3_64(text) & ((1 << bits) - 1);
    name.push(b'#');
    let first = name.len();
    loop {
        name.push(b'0' + (hash % 10) as u8);
        hash /= 10;
        if hash == 0 {
            break;
        }
    }
    name[first..].reverse();
}

/// Features of the parts of a column's dates, as far as the batch has them.
#[derive(Clone, Debug)]
pub(super) struct DateKeys {
    months: [Option<u32>; 12],
    weekdays: [Option<u32>; 7],
    hours: [Option<u32>; 24],
    /// The last cell, and what it means: tables are often in the order of their dates.
    last: (Vec<u8>, Option<Moment>),
}

impl DateKeys {
    const NONE: DateKeys =
        DateKeys { months: [None; 12], weekdays: [None; 7], hours: [None; 24], last: (Vec::new(), None) };
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
        let Some(slot) = column.slot else { return Ok(()) };
        if self.dates.len() <= slot {
            self.dates.resize(slot + 1, DateKeys::NONE);
        }
        let last = &mut self.dates[slot].last;
        if last.0 != content {
            last.0.clear();
            last.0.extend_from_slice(content);
            last.1 = written::date_as(content, form);
        }
        match last.1 {
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
        let Some(slot) = column.slot else { return Ok(()) };
        if self.dates.len() <= slot {
            self.dates.resize(slot + 1, DateKeys::NONE);
        }
        let (month, weekday, hour) = (moment.month as usize - 1, moment.weekday, moment.hour as usize);
        if self.dates[slot].months[month].is_none() {
            let key = self.part_of_date(name, format_args!(".month={}", moment.month))?;
            self.dates[slot].months[month] = Some(key);
        }
        if self.dates[slot].weekdays[weekday].is_none() {
            let key = self.part_of_date(name, format_args!(".weekday={}", WEEKDAYS[weekday]))?;
            self.dates[slot].weekdays[weekday] = Some(key);
        }
        if form.time && self.dates[slot].hours[hour].is_none() {
            let key = self.part_of_date(name, format_args!(".hour={hour}"))?;
            self.dates[slot].hours[hour] = Some(key);
        }
        let DateKeys { months, weekdays, hours, .. } = &self.dates[slot];
        let keys = [months[month], weekdays[weekday], hours[hour].filter(|_| form.time)];
        keys.into_iter().flatten().for_each(|key| self.one(key));
        Ok(())
    }

    fn part_of_date(&mut self, column: &str, part: std::fmt::Arguments) -> Result<u32, CellError> {
        self.feature(column, |name| name.extend_from_slice(part.to_string().as_bytes()))
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
        if column.bins.is_empty() {
            return Ok(());
        }
        if value.is_nan() {
            return Err(not_finite(&column.name, value));
        }
        let place = column.bins.partition_point(|&edge| edge <= value);
        if let Some(feature) = column.bin_features.get(place) {
            let key = self.batch.names.intern(feature.as_bytes());
            self.one(key);
        }
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
