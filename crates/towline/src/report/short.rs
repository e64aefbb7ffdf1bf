//! Numbers as people read them.

/// `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A number with four digits that tell something.
pub fn number(x: f64) -> String {
    match x.abs() {
        size if size == 0.0 || !size.is_finite() => x.to_string(),
        size if !(1e-3..1e7).contains(&size) => format!("{x:.3e}"),
        size if size >= 1000.0 => {
            let whole = count(size.round() as u64);
            if x < 0.0 { format!("−{whole}") } else { whole }
        }
        size => {
            let decimals = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
            let text = format!("{x:.decimals$}");
            let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
            text.replace('-', "−")
        }
    }
}

/// `12.3 %`.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent.abs() {
        0.0 => "0 %".to_string(),
        size if size < 0.01 => format!("{percent:.1e} %"),
        size if size < 1.0 => format!("{percent:.3} %"),
        _ => format!("{percent:.2} %"),
    }
}

/// `382.3 KiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    if unit == 0 { format!("{n} bytes") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// `2 min 5 s`, `0.42 s`.
pub fn seconds(s: f64) -> String {
    match s {
        s if s >= 3600.0 => format!("{} h {} min", (s / 3600.0) as u64, (s % 3600.0 / 60.0) as u64),
        s if s >= 60.0 => format!("{} min {} s", (s / 60.0) as u64, (s % 60.0) as u64),
        s if s >= 1.0 => format!("{s:.1} s"),
        s => format!("{s:.2} s"),
    }
}

/// The nearest number with six digits: charts need no more, and pages stay small.
pub fn rounded(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_tell_something() {
        let shown = [0.0, 12.5, -0.25, 1234567.0, 1.5e-9, 3.0, 0.012345, 2e9].map(number);
        assert_eq!(shown, ["0", "12.5", "−0.25", "1,234,567", "1.500e-9", "3", "0.01235", "2.000e9"]);
        assert_eq!([0.5, 0.0, 1e-6, 0.004].map(percent), ["50.00 %", "0 %", "1.0e-4 %", "0.400 %"]);
        assert_eq!([0, 512, 2048, 5 << 20].map(bytes), ["0 bytes", "512 bytes", "2.0 KiB", "5.0 MiB"]);
        assert_eq!([0.424, 12.0, 125.0, 7300.0].map(seconds), ["0.42 s", "12.0 s", "2 min 5 s", "2 h 1 min"]);
        assert_eq!(rounded(0.123456789), 0.123457);
    }
}
