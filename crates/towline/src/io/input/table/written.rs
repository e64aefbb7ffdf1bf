//! Numbers, truth values and dates as people write them in cells.
use chrono::{Datelike, NaiveDate, Timelike};

use crate::input::number;
use crate::schema::{DateForm, DateOrder, Decimal};

/// Money, percent, separators of thousands, negative numbers in brackets; also plain numbers.
pub(crate) fn amount(cell: &[u8], decimal: Decimal) -> Option<f64> {
    let mut text = std::str::from_utf8(cell).ok()?.trim();
    let mut sign = 1.0;
    if let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        (text, sign) = (inner.trim(), -1.0);
    }
    if let Some(rest) = text.strip_prefix('-') {
        (text, sign) = (rest.trim_start(), -sign);
    }
    let symbols = ['$', '€', '£', '¥', '₹'];
    text = text.strip_prefix(symbols).or_else(|| text.strip_suffix(symbols)).unwrap_or(text).trim();
    if let Some(rest) = text.strip_prefix('-') {
        (text, sign) = (rest.trim_start(), -sign);
    }
    let mut unit = 1.0;
    if let Some(rest) = text.strip_suffix('%') {
        (text, unit) = (rest.trim_end(), 0.01);
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == ',') {
        return None;
    }
    let (separator, point) = match decimal {
        Decimal::Point => (',', '.'),
        Decimal::Comma => ('.', ','),
    };
    let (whole, fraction) = text.split_once(point).map_or((text, None), |(whole, rest)| (whole, Some(rest)));
    let mut plain = String::with_capacity(text.len());
    for (at, group) in whole.split(separator).enumerate() {
        // Thousands are in groups of three.
        let is_whole =
            group.len() == 3 || at == 0 && !whole.contains(separator) || at == 0 && (1..=3).contains(&group.len());
        if !is_whole || !group.bytes().all(|byte| byte.is_ascii_digit()) && whole.contains(separator) {
            return None;
        }
        plain.push_str(group);
    }
    if let Some(fraction) = fraction {
        plain.push('.');
        plain.push_str(fraction);
    }
    number::whole_float(plain.as_bytes()).filter(|value| value.is_finite()).map(|value| sign * unit * value)
}

/// Whether it is true; none if it is no truth value.
pub(crate) fn boolean(cell: &[u8]) -> Option<bool> {
    let cell = cell.trim_ascii();
    let is = |words: &[&str]| words.iter().any(|word| cell.eq_ignore_ascii_case(word.as_bytes()));
    match () {
        () if is(&["true", "yes", "t", "y"]) => Some(true),
        () if is(&["false", "no", "f", "n"]) => Some(false),
        () => None,
    }
}

/// A day, and the part of it that has gone by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moment {
    /// Since 1970-01-01.
    pub(crate) days: f64,
    /// From 1 to 12.
    pub(crate) month: u32,
    /// From 0, Monday.
    pub(crate) weekday: usize,
    /// From 0 to 23.
    pub(crate) hour: u32,
}

/// Names of the days of a week.
pub(crate) const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

impl Moment {
    /// The moment so many days after 1970 began.
    pub(crate) fn of_days(days: f64) -> Option<Moment> {
        if days.is_nan() || days.abs() >= 1e8 {
            return None;
        }
        let date =
            NaiveDate::from_ymd_opt(1970, 1, 1)?.checked_add_signed(chrono::TimeDelta::days(days.floor() as i64))?;
        let hour = ((days - days.floor()) * 24.0) as u32;
        let weekday = date.weekday().num_days_from_monday() as usize;
        Some(Moment { days, month: date.month(), weekday, hour: hour.min(23) })
    }
}

/// A date, with a time of day or without one, whatever separates its numbers.
pub(crate) fn date(cell: &[u8], order: DateOrder) -> Option<(Moment, bool)> {
    let text = std::str::from_utf8(cell).ok()?.trim();
    let end = text.find([' ', 'T']).unwrap_or(text.len());
    let (day, rest) = text.split_at(end);
    let separator = day.chars().find(|c| !c.is_ascii_digit())?;
    if !['-', '/', '.'].contains(&separator) {
        return None;
    }
    let mut numbers = day.split(separator);
    let mut next = || numbers.next().filter(|part| (1..=4).contains(&part.len())).and_then(|part| part.parse().ok());
    let (first, second, third): (i32, i32, i32) = (next()?, next()?, next()?);
    let (year, month, day_of_month) = match order {
        DateOrder::YearMonthDay => (first, second, third),
        DateOrder::MonthDayYear => (third, first, second),
        DateOrder::DayMonthYear => (third, second, first),
    };
    // Two digits are no year.
    if numbers.next().is_some() || year < 1000 {
        return None;
    }
    let date = NaiveDate::from_ymd_opt(year, u32::try_from(month).ok()?, u32::try_from(day_of_month).ok()?)?;
    let days = date.signed_duration_since(NaiveDate::from_ymd_opt(1970, 1, 1)?).num_days() as f64;
    let rest = rest.trim_start_matches(['T', ' ']);
    if rest.is_empty() {
        return Moment::of_days(days).map(|moment| (moment, false));
    }
    let seconds = time_of_day(rest)?;
    let moment = Moment::of_days(days)?;
    Some((Moment { days: days + seconds / 86_400.0, hour: (seconds / 3600.0) as u32, ..moment }, true))
}

/// Seconds since midnight; a zone that follows is left out: cells of a column have the same one, as a rule.
fn time_of_day(text: &str) -> Option<f64> {
    let zone = text.find(['Z', '+', '-']).unwrap_or(text.len());
    let clock = text[..zone].trim_end();
    let forms = ["%H:%M:%S%.f", "%H:%M", "%I:%M:%S %p", "%I:%M %p"];
    let time = forms.iter().find_map(|form| chrono::NaiveTime::parse_from_str(clock, form).ok())?;
    Some(f64::from(time.num_seconds_from_midnight()) + f64::from(time.nanosecond() % 1_000_000_000) * 1e-9)
}

/// A date as a column writes it.
pub(crate) fn date_as(cell: &[u8], form: DateForm) -> Option<Moment> {
    date(cell, form.order).map(|(moment, _)| moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_as_people_write_them() {
        let point = |text: &str| amount(text.as_bytes(), Decimal::Point);
        let cases = [
            ("$60,000.00 ", 60_000.0),
            ("1,200", 1200.0),
            ("12%", 0.12),
            ("(5)", -5.0),
            ("-$3.50", -3.5),
            ("$-3.50", -3.5),
            ("€ 12", 12.0),
            ("12 €", 12.0),
            ("1,234,567.5", 1_234_567.5),
            ("42", 42.0),
            ("1e3", 1000.0),
            (".5", 0.5),
        ];
        for (text, value) in cases {
            let found = point(text).unwrap_or(f64::NAN);
            assert!((found - value).abs() <= 1e-12 * value.abs(), "{text}: {found}");
        }
        for text in ["1,20", "12,3456", "abc", "", "$", "%", "1,,200", "12 apples", "1.2.3", ",5", "nan", "inf"] {
            assert_eq!(point(text), None, "{text}");
        }
        let comma = |text: &str| amount(text.as_bytes(), Decimal::Comma);
        assert_eq!((comma("1.200,50"), comma("3,5"), comma("1,200")), (Some(1200.5), Some(3.5), Some(1.2)));
        assert_eq!(comma("1.5"), None, "a group of three is missing");
    }

    #[test]
    fn dates_of_three_orders() {
        use DateOrder::*;
        let days = |text: &str, order| date(text.as_bytes(), order).map(|(moment, _)| moment.days);
        assert_eq!(days("1970-01-02", YearMonthDay), Some(1.0));
        assert_eq!(days("2024/2/29", YearMonthDay), Some(19_782.0));
        assert_eq!(days("02/29/2024", MonthDayYear), Some(19_782.0));
        assert_eq!(days("29.02.2024", DayMonthYear), Some(19_782.0));
        assert_eq!(days("2024-02-29T12:00:00Z", YearMonthDay), Some(19_782.5));
        assert_eq!(days("2/29/2024 6:00 PM", MonthDayYear), Some(19_782.75));
        for text in ["2023-02-29", "24-02-01", "2024-13-01", "2024", "20240229", "2024-02", "2024-02-29x", "a-b-c", ""]
        {
            assert_eq!(days(text, YearMonthDay), None, "{text}");
        }
        let (moment, timed) = date(b"2024-05-17 17:30", YearMonthDay).unwrap();
        assert_eq!((moment.month, WEEKDAYS[moment.weekday], moment.hour, timed), (5, "Fri", 17, true));
        assert_eq!(Moment::of_days(moment.days), Some(moment));
        assert_eq!(Moment::of_days(f64::NAN), None);
    }

    #[test]
    fn truth_values() {
        assert_eq!((boolean(b"Yes"), boolean(b" FALSE"), boolean(b"f")), (Some(true), Some(false), Some(false)));
        assert_eq!((boolean(b""), boolean(b"maybe"), boolean(b"1")), (None, None, None));
    }
}
