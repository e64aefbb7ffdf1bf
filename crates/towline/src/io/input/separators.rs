//! Entries `index:value`, found by where their digits end.
//!
//! A parser that reads one number to learn where the next begins waits for memory and arithmetic at every step. Here
//! the characters that are no digits are found first, many at a time and without a branch on what they are; then the
//! numbers between them are independent of each other, and the processor converts several at once.
use super::number::{digits, quotient};

/// How many characters are looked through at a time. What is found in them stays in the first cache.
const WINDOW: usize = 8 << 10;
/// An entry has at most three: the colon, the decimal point and what follows it.
const OF_AN_ENTRY: usize = 3;

/// The characters of a text that are no digits, from some place on.
pub struct Separators {
    /// Where the window begins.
    begin: usize,
    /// Places in the window, ascending.
    places: [u16; WINDOW],
    found: usize,
    /// The first one that has not been passed.
    next: usize,
    /// Where the entry begins that `next` belongs to.
    token: usize,
}

impl Separators {
    /// Nothing has been looked at.
    pub fn new() -> Self {
        Separators { begin: 0, places: [0; WINDOW], found: 0, next: 0, token: usize::MAX }
    }

    /// Reads entries in their usual form, one blank between them, from `at` on; returns where the first one begins that
    /// is not of this form, or where the line ends.
    ///
    /// What stops it need not be bad, only unusual (signs, exponents, more than eight digits, the end of the text): the
    /// caller looks closer.
    #[inline(always)]
    pub fn entries(&mut self, text: &[u8], mut at: usize, keys: &mut Vec<u64>, values: &mut Vec<f64>) -> usize {
        loop {
            if at != self.token || self.next + OF_AN_ENTRY > self.found {
                self.seek(text, at);
            }
            let (begin, window) = (self.begin, &text[self.begin..]);
            let mut places = &self.places[self.next..self.found];
            if places.len() < OF_AN_ENTRY {
                return at;
            }
            let mut token = at - begin;
            while let Some(&[colon, second, third]) = places.first_chunk() {
                let (colon, second, third) = (usize::from(colon), usize::from(second), usize::from(third));
                let Some((key, value, end)) = entry(window, token, colon, second, third) else {
                    self.next = self.found - places.len();
                    self.token = begin + token;
                    return begin + token;
                };
                keys.push(key);
                values.push(value);
                places = &places[if end == third { 3 } else { 2 }..];
                if window[end] == b'\n' {
                    self.next = self.found - places.len();
                    self.token = begin + end + 1;
                    return begin + end;
                }
                token = end + 1;
            }
            self.next = self.found - places.len();
            at = begin + token;
            self.token = at;
        }
    }

    /// Makes `next` the first separator at or behind `at`, with all of its entry behind it as far as the text goes.
    fn seek(&mut self, text: &[u8], at: usize) {
        let places = &self.places[..self.found];
        while at >= self.begin && places.get(self.next).is_some_and(|&place| self.begin + usize::from(place) < at) {
            self.next += 1;
        }
        self.token = at;
        if at < self.begin || self.next + OF_AN_ENTRY > self.found {
            self.look_through(text, at);
        }
    }

    fn look_through(&mut self, text: &[u8], at: usize) {
        (self.begin, self.found, self.next) = (at, 0, 0);
        let window = text.get(at..).unwrap_or(&[]);
        let window = &window[..window.len().min(WINDOW)];
        let (words, rest) = window.as_chunks::<64>();
        for (k, word) in words.iter().enumerate() {
            let mut mask = not_digits(word);
            while mask != 0 {
                self.places[self.found] = (64 * k) as u16 + mask.trailing_zeros() as u16;
                self.found += 1;
                mask &= mask - 1;
            }
        }
        for (k, byte) in rest.iter().enumerate() {
            if !byte.is_ascii_digit() {
                self.places[self.found] = (64 * words.len() + k) as u16;
                self.found += 1;
            }
        }
    }
}

/// The entry in its usual form that begins at `at`, by where its digits end: index, value, and where it ends.
#[inline(always)]
fn entry(text: &[u8], at: usize, colon: usize, second: usize, third: usize) -> Option<(u64, f64, usize)> {
    if text[colon] != b':' {
        return None;
    }
    let index = digits::<8>(text, at, colon)?;
    // Most values are below ten.
    let whole =
        if second == colon + 2 { u64::from(text[colon + 1] - b'0') } else { digits::<7>(text, colon + 1, second)? };
    let (value, end) = if text[second] == b'.' {
        let fraction = digits::<8>(text, second + 1, third)?;
        // At most 7 + 8 digits: below 2^53, so that the quotient is correctly rounded.
        (quotient(whole, fraction, third - second - 1), third)
    } else {
        (whole as f64, second)
    };
    matches!(text[end], b' ' | b'\n').then_some((index, value, end))
}

/// A bit for each character that is no digit.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn not_digits(characters: &[u8; 64]) -> u64 {
    use std::arch::x86_64::{__m128i, _mm_add_epi8, _mm_cmplt_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    let mut digits = 0;
    for (k, sixteen) in characters.as_chunks::<16>().0.iter().enumerate() {
        // SAFETY: these instructions belong to every x86-64 processor, and sixteen bytes are there to be read.
        digits |= unsafe {
            let characters = _mm_loadu_si128(sixteen.as_ptr().cast::<__m128i>());
            // Moves '0' to the least number there is, so that one comparison tells digits from all others.
            let moved = _mm_add_epi8(characters, _mm_set1_epi8(i8::MIN.wrapping_sub(b'0' as i8)));
            let mask = _mm_movemask_epi8(_mm_cmplt_epi8(moved, _mm_set1_epi8(i8::MIN + 10)));
            u64::from(mask as u16) << (16 * k)
        };
    }
    !digits
}

/// A bit for each character that is no digit.
#[cfg(not(target_arch = "x86_64"))]
fn not_digits(characters: &[u8; 64]) -> u64 {
    characters.iter().enumerate().fold(0, |mask, (k, byte)| mask | u64::from(!byte.is_ascii_digit()) << k)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_agree_with_the_standard_library(
            entries in proptest::collection::vec(("[0-9]{1,9}", "[0-9]{1,9}(\\.[0-9]{0,9})?(e1)?", "[ \n]"), 1..2000),
            behind in "[ 0-9:.x]{0,60}",
        ) {
            let text: String = entries.iter().map(|(index, value, end)| format!("{index}:{value}{end}")).collect::<String>() + &behind;
            let mut separators = Separators::new();
            let (mut at, mut read) = (0, 0);
            let (mut keys, mut values) = (Vec::new(), Vec::new());
            for (index, value, _) in &entries {
                if read == keys.len() {
                    let stop = separators.entries(text.as_bytes(), at, &mut keys, &mut values);
                    prop_assert!(stop >= at);
                }
                if read < keys.len() {
                    prop_assert_eq!((keys[read], values[read]), (index.parse::<u64>().unwrap(), value.parse::<f64>().unwrap()));
                    read += 1;
                } else {
                    let (whole, fraction) = value.split_once('.').unwrap_or((value, "0"));
                    let usual = index.len() <= 8 && whole.len() <= 7 && (1..=8).contains(&fraction.len()) && !value.contains('e');
                    // Only at the end of the text may a usual entry be left to others.
                    prop_assert!(!usual || text[at..].bytes().filter(|b| !b.is_ascii_digit()).count() <= 3, "{}", &text[at..]);
                    (keys, values, read) = (Vec::new(), Vec::new(), 0);
                }
                at += index.len() + value.len() + 2;
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in "[0-9:. \n]{0,200}", places in proptest::collection::vec(0usize..200, 0..20)) {
            let mut separators = Separators::new();
            for at in places {
                let at = at.min(bytes.len());
                let stop = separators.entries(bytes.as_bytes(), at, &mut Vec::new(), &mut Vec::new());
                prop_assert!(stop >= at && stop <= bytes.len());
            }
        }

        #[test]
        fn masks_agree_with_a_loop(bytes: [u8; 64]) {
            let expected = bytes.iter().enumerate().filter(|(_, b)| !b.is_ascii_digit()).fold(0, |mask, (k, _)| mask | 1u64 << k);
            prop_assert_eq!(not_digits(&bytes), expected);
        }
    }
}
