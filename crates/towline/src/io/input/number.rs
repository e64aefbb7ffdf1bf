//! Decimal numbers, eight characters at a time.
//!
//! Reading text is what one-pass training spends most of its time on, and most of that is the conversion of digits.
//! Whole words of eight characters are classified and converted without a branch per digit; whatever is unusual
//! (exponents, more than eighteen digits) goes to `fast_float2`. Both are correctly rounded.

/// `10^0 ..= 10^18`, all of them exact.
const POWERS: [f64; 19] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];
const INTEGER_POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Integers up to here are exact as `f64`, and so is their quotient by an exact power of ten (Clinger's fast path).
const LARGEST_EXACT: u64 = 1 << 53;

/// The eight characters from `at` on, as digits 0..=9 in the order of memory; anything beyond the end reads as no
/// digit.
#[inline(always)]
fn word(text: &[u8], at: usize) -> u64 {
    let raw = match text.get(at..at + 8) {
        Some(eight) => u64::from_le_bytes(eight.try_into().expect("eight bytes")),
        None => {
            let mut padded = [0u8; 8];
            let rest = text.get(at..).unwrap_or(&[]);
            padded[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(padded)
        }
    };
    raw ^ 0x3030_3030_3030_3030
}

/// How many of the characters, from the first on, are digits.
#[inline(always)]
fn leading_digits(word: u64) -> usize {
    // Adding 0x76 carries 10 and above into the top bit; a carry into the next byte comes only from a byte that is no
    // digit itself, and only the first such byte counts.
    let not_digit = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
    not_digit.trailing_zeros() as usize / 8
}

/// The value of the first `digits` characters, 1 to 8 of them.
#[inline(always)]
fn convert(word: u64, digits: usize) -> u64 {
    // Moving the digits to the end of the word puts zeros before them.
    let word = word << (64 - 8 * digits);
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8);
    const MASK: u64 = 0x0000_00ff_0000_00ff;
    let high = (pairs & MASK).wrapping_mul(0x000f_4240_0000_0064);
    let low = ((pairs >> 16) & MASK).wrapping_mul(0x0000_2710_0000_0001);
    high.wrapping_add(low) >> 32
}

/// Reads an unsigned integer at `at`: its value and where it ends. `None` if there is no digit there, or it does not
/// fit.
#[inline(always)]
pub fn unsigned(text: &[u8], at: usize) -> Option<(u64, usize)> {
    let first = word(text, at);
    let digits = leading_digits(first);
    if digits == 0 {
        return None;
    }
    let (value, end) = (convert(first, digits), at + digits);
    // Looking at the next character, and not at the number of digits, keeps this branch predictable where numbers of
    // seven and eight digits mix.
    if text.get(end).is_some_and(u8::is_ascii_digit) { long_unsigned(text, end, value) } else { Some((value, end)) }
}

#[cold]
#[inline(never)]
fn long_unsigned(text: &[u8], mut at: usize, mut value: u64) -> Option<(u64, usize)> {
    while let Some(digit) = text.get(at).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        at += 1;
    }
    Some((value, at))
}

/// Reads a decimal number at `at`: its value and where it ends. `None` if there is none. May be infinite or NaN, as
/// written or by overflow.
#[inline(always)]
pub fn float(text: &[u8], at: usize) -> Option<(f64, usize)> {
    let negative = text.get(at) == Some(&b'-');
    let begin = at + usize::from(negative || text.get(at) == Some(&b'+'));
    let whole_word = word(text, begin);
    let whole_digits = leading_digits(whole_word);
    if whole_digits == 0 || whole_digits == 8 {
        return slow_float(text, at);
    }
    let mut mantissa = convert(whole_word, whole_digits);
    let mut end = begin + whole_digits;
    let mut scale = 0;
    if text.get(end) == Some(&b'.') {
        let fraction_word = word(text, end + 1);
        let fraction_digits = leading_digits(fraction_word);
        end += 1;
        if fraction_digits == 8 && text.get(end + 8).is_some_and(u8::is_ascii_digit) {
            return slow_float(text, at);
        }
        if fraction_digits > 0 {
            mantissa = mantissa * INTEGER_POWERS[fraction_digits] + convert(fraction_word, fraction_digits);
            end += fraction_digits;
            scale = fraction_digits;
        }
    }
    if mantissa > LARGEST_EXACT || matches!(text.get(end), Some(b'e' | b'E')) {
        return slow_float(text, at);
    }
    let value = if scale == 0 { mantissa as f64 } else { mantissa as f64 / POWERS[scale] };
    Some((if negative { -value } else { value }, end))
}

/// The number made of the characters from `from` to `to`, which are known to be digits: 1 to `MOST` of them, else
/// `None`.
#[inline(always)]
pub fn digits<const MOST: usize>(text: &[u8], from: usize, to: usize) -> Option<u64> {
    let count = to.wrapping_sub(from);
    if count.wrapping_sub(1) >= MOST {
        return None;
    }
    Some(convert(word(text, from), count))
}

/// `whole.fraction` as a number, where the fraction has this many digits; correctly rounded if both have 15 digits
/// together.
#[inline(always)]
pub fn quotient(whole: u64, fraction: u64, fraction_digits: usize) -> f64 {
    let mantissa = whole * INTEGER_POWERS[fraction_digits] + fraction;
    // Below 2^52 the mantissa of a float of this exponent is the integer itself. Unlike the processor's own conversion,
    // which keeps the upper half of its register, this does not wait for the quotient before.
    const TWO_TO_52: f64 = (1u64 << 52) as f64;
    let exact = f64::from_bits(TWO_TO_52.to_bits() | mantissa) - TWO_TO_52;
    exact / POWERS[fraction_digits]
}

#[cold]
#[inline(never)]
fn slow_float(text: &[u8], at: usize) -> Option<(f64, usize)> {
    let rest = text.get(at..)?;
    // fast_float2 does not take a leading plus sign.
    let plus = usize::from(rest.first() == Some(&b'+') && !matches!(rest.get(1), Some(b'+' | b'-')));
    let (value, length) = fast_float2::parse_partial::<f64, _>(&rest[plus..]).ok()?;
    Some((value, at + plus + length))
}

/// Reads a number that fills all of `text`.
pub fn whole_float(text: &[u8]) -> Option<f64> {
    float(text, 0).filter(|&(_, end)| end == text.len()).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_agree_with_the_standard_library(value: u64, tail in "[ :,a-z]?[0-9]{0,3}") {
            let separator = if tail.starts_with(|c: char| c.is_ascii_digit()) { " " } else { "" };
            let text = format!("{value}{separator}{tail}");
            prop_assert_eq!(unsigned(text.as_bytes(), 0), Some((value, value.to_string().len())));
        }

        #[test]
        fn floats_agree_with_the_standard_library(text in "[+-]?[0-9]{1,20}(\\.[0-9]{0,20})?([eE][+-]?[0-9]{1,3})?", tail in "[ \n]?") {
            let expected: f64 = text.parse().unwrap();
            let line = format!("{text}{tail}");
            let (value, end) = float(line.as_bytes(), 0).unwrap();
            prop_assert_eq!(value.to_bits(), expected.to_bits());
            prop_assert_eq!(end, text.len());
        }

        #[test]
        fn short_floats_agree_with_the_standard_library(value in -1_000_000i64..1_000_000, digits in 0usize..9) {
            let text = format!("{:.*}", digits, value as f64 / 10f64.powi(digits as i32));
            prop_assert_eq!(whole_float(text.as_bytes()), text.parse().ok());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, at in 0usize..20) {
            let _ = (unsigned(&bytes, at), float(&bytes, at));
        }
    }

    #[test]
    fn what_is_not_a_number() {
        for text in ["", "-", "+", ".", "e5", "x", "--1", "+-1"] {
            assert_eq!(whole_float(text.as_bytes()), None, "{text}");
        }
        assert_eq!(unsigned(b"18446744073709551616", 0), None);
        assert_eq!(unsigned(b"-1", 0), None);
    }

    #[test]
    fn unusual_numbers() {
        assert_eq!(whole_float(b".5"), Some(0.5));
        assert_eq!(whole_float(b"5."), Some(5.0));
        assert_eq!(whole_float(b"+1e3"), Some(1000.0));
        assert_eq!(whole_float(b"1e400"), Some(f64::INFINITY));
        assert!(whole_float(b"nan").unwrap().is_nan());
    }
}
