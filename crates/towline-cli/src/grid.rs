//! Values of a parameter: a list, or a range on a logarithmic scale.

/// Several values, ascending.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid(pub Vec<f64>);

/// More values than this are a slip.
const MOST: usize = 1000;

/// Reads `0.1,1,10`, `0.01..1000` (a value per power of ten) or `0.01..1000:11` (that many values).
pub fn parse(text: &str) -> Result<Grid, String> {
    let remedy = "write a list like 0.1,1,10, a range like 0.01..1000 with a value per power of ten, or 0.01..1000:11 with 11 values";
    let number = |text: &str| match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err(format!("'{text}' is not a number above 0; {remedy}")),
    };
    let mut values = match text.split_once("..") {
        None => text.split(',').map(number).collect::<Result<Vec<f64>, String>>()?,
        Some((low, rest)) => {
            let (high, count) = match rest.split_once(':') {
                Some((high, count)) => (high, Some(count)),
                None => (rest, None),
            };
            let (low, high) = (number(low)?, number(high)?);
            let decades = (high / low).log10();
            let count = match count {
                None => decades.abs().round() as usize + 1,
                Some(count) => count.parse().map_err(|_| format!("'{count}' is not a number of values; {remedy}"))?,
            };
            if !(1..=MOST).contains(&count) || (count == 1 && low != high) {
                return Err(format!("{count} values are not between 2 and {MOST}; {remedy}"));
            }
            let steps = (count - 1).max(1) as f64;
            (0..count).map(|i| tidy(low * 10f64.powf(decades * i as f64 / steps))).collect()
        }
    };
    values.sort_by(f64::total_cmp);
    values.dedup();
    Ok(Grid(values))
}

/// Rounding leaves 0.09999999999999999 where 0.1 is meant.
fn tidy(value: f64) -> f64 {
    format!("{value:.12e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_read() {
        assert_eq!(parse("1").unwrap().0, [1.0]);
        assert_eq!(parse("10, 0.1,1,1").unwrap().0, [0.1, 1.0, 10.0]);
        assert_eq!(parse("0.01..1000").unwrap().0, [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(parse("100..1").unwrap().0, [1.0, 10.0, 100.0]);
        assert_eq!(parse("1..16:5").unwrap().0, [1.0, 2.0, 4.0, 8.0, 16.0]);
        for wrong in ["", "a", "1,,2", "0..1", "-1..1", "1..2:0", "1..2:x", "1..10:5000", "1..", "inf", "1..2:1"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
