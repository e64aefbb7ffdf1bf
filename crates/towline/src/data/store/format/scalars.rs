//! One number per row: labels and weights as floats, groups and ids as whole numbers.
use super::bytes::Bytes;
use super::{FormatError, packed};

const CONSTANT: u8 = 0;
const DICTIONARY: u8 = 1;
const F32: u8 = 2;
const F64: u8 = 3;
const ASCENDING: u8 = 4;
const PLAIN: u8 = 5;

/// More distinct labels than this are written out.
const LARGEST_DICTIONARY: usize = 256;

pub fn encode_floats(numbers: &[f64], out: &mut Vec<u8>) {
    let mut distinct: Vec<u64> = Vec::new();
    let mut codes: Vec<u32> = Vec::with_capacity(numbers.len());
    for number in numbers {
        let bits = number.to_bits();
        let code = distinct.iter().position(|&d| d == bits).unwrap_or_else(|| {
            distinct.push(bits);
            distinct.len() - 1
        });
        if distinct.len() > LARGEST_DICTIONARY {
            break;
        }
        codes.push(code as u32);
    }
    match distinct.len() {
        0 | 1 => {
            out.push(CONSTANT);
            out.extend_from_slice(&numbers.first().unwrap_or(&0.0).to_le_bytes());
        }
        2..=LARGEST_DICTIONARY => {
            out.push(DICTIONARY);
            out.extend_from_slice(&(distinct.len() as u16).to_le_bytes());
            distinct.iter().for_each(|bits| out.extend_from_slice(&bits.to_le_bytes()));
            packed::encode(&codes, out);
        }
        _ if numbers.iter().all(|&n| f64::from(n as f32) == n) => {
            out.push(F32);
            numbers.iter().for_each(|&n| out.extend_from_slice(&(n as f32).to_le_bytes()));
        }
        _ => {
            out.push(F64);
            numbers.iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
        }
    }
}

pub fn decode_floats(mut bytes: Bytes, count: usize, numbers: &mut Vec<f64>) -> Result<(), FormatError> {
    decode_list(&mut bytes, count, numbers)?;
    bytes.finish()
}

/// A list of floats that others may follow.
pub fn decode_list(bytes: &mut Bytes, count: usize, numbers: &mut Vec<f64>) -> Result<(), FormatError> {
    let begin = numbers.len();
    match bytes.u8()? {
        CONSTANT => {
            let constant = bytes.f64()?;
            numbers.extend(std::iter::repeat_n(constant, count));
        }
        DICTIONARY => {
            let size = bytes.u16()? as usize;
            let dictionary: Vec<f64> = bytes.items::<8>(size)?.iter().map(|&b| f64::from_le_bytes(b)).collect();
            let mut codes = Vec::with_capacity(count);
            packed::decode(bytes, count, &mut codes)?;
            for code in codes {
                numbers
                    .push(*dictionary.get(code as usize).ok_or_else(|| bytes.error("a code beyond the dictionary"))?);
            }
        }
        F32 => numbers.extend(bytes.items::<4>(count)?.iter().map(|&b| f64::from(f32::from_le_bytes(b)))),
        F64 => numbers.extend(bytes.items::<8>(count)?.iter().map(|&b| f64::from_le_bytes(b))),
        _ => return Err(bytes.error("unknown encoding")),
    }
    if numbers[begin..].iter().any(|n| !n.is_finite()) {
        return Err(bytes.error("a number is not finite"));
    }
    Ok(())
}

pub fn encode_integers(numbers: &[u64], steps: &mut Vec<u32>, out: &mut Vec<u8>) {
    steps.clear();
    let first = numbers.first().copied().unwrap_or(0);
    let mut last = first;
    for &number in numbers {
        match number.checked_sub(last).and_then(|step| u32::try_from(step).ok()) {
            Some(step) => steps.push(step),
            None => break,
        }
        last = number;
    }
    if steps.len() == numbers.len() {
        out.push(ASCENDING);
        out.extend_from_slice(&first.to_le_bytes());
        packed::encode(steps, out);
        return;
    }
    // Shuffled ids: how far each is above the least one, in two halves of 32 bits.
    out.push(PLAIN);
    let least = numbers.iter().copied().min().unwrap_or(0);
    out.extend_from_slice(&least.to_le_bytes());
    for shift in [0, 32] {
        steps.clear();
        steps.extend(numbers.iter().map(|&n| ((n - least) >> shift) as u32));
        packed::encode(steps, out);
    }
}

pub fn decode_integers(
    mut bytes: Bytes,
    count: usize,
    parts: &mut Vec<u32>,
    numbers: &mut Vec<u64>,
) -> Result<(), FormatError> {
    let (tag, first) = (bytes.u8()?, bytes.u64()?);
    parts.clear();
    packed::decode(&mut bytes, count, parts)?;
    match tag {
        ASCENDING => {
            let mut last = first;
            for &step in &*parts {
                last = last.checked_add(u64::from(step)).ok_or_else(|| bytes.error("a number beyond 64 bits"))?;
                numbers.push(last);
            }
        }
        PLAIN => {
            packed::decode(&mut bytes, count, parts)?;
            let (low, high) = parts.split_at(count);
            for (&low, &high) in low.iter().zip(high) {
                let above = u64::from(high) << 32 | u64::from(low);
                numbers.push(first.checked_add(above).ok_or_else(|| bytes.error("a number beyond 64 bits"))?);
            }
        }
        _ => return Err(bytes.error("unknown encoding")),
    }
    bytes.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn float_column() -> impl Strategy<Value = Vec<f64>> {
        let few = (0i32..5).prop_map(f64::from);
        let single = any::<f32>().prop_filter("finite", |v| v.is_finite()).prop_map(f64::from);
        let double = any::<f64>().prop_filter("finite", |v| v.is_finite());
        prop_oneof![
            proptest::collection::vec(few, 0..300),
            proptest::collection::vec(single, 0..400),
            proptest::collection::vec(double, 0..400)
        ]
    }

    proptest! {
        #[test]
        fn floats_come_back(numbers in float_column()) {
            let mut bytes = Vec::new();
            encode_floats(&numbers, &mut bytes);
            let mut back = Vec::new();
            decode_floats(Bytes::new("test", &bytes), numbers.len(), &mut back).unwrap();
            prop_assert_eq!(back, numbers);
        }

        #[test]
        fn integers_come_back(mut numbers in proptest::collection::vec(any::<u64>(), 0..300), bits in 0u32..64, ascending: bool) {
            numbers.iter_mut().for_each(|n| *n >>= bits);
            if ascending {
                numbers.sort_unstable();
            }
            let mut bytes = Vec::new();
            encode_integers(&numbers, &mut Vec::new(), &mut bytes);
            let mut back = Vec::new();
            decode_integers(Bytes::new("test", &bytes), numbers.len(), &mut Vec::new(), &mut back).unwrap();
            prop_assert_eq!(back, numbers);
        }
    }
}
