//! Random choices that are the same everywhere, from a seed.
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// Puts `items` into a random order (Fisher–Yates).
pub fn shuffle<T>(items: &mut [T], random: &mut Xoshiro256PlusPlus) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(random, last as u64 + 1) as usize);
    }
}

/// A random number below `n`, by multiplication: the bias is below 2^-32 for any number of rows that fits into memory.
pub fn below(random: &mut Xoshiro256PlusPlus, n: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64
}

/// A random number in [0, 1).
pub fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}
