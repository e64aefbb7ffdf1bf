//! Products of a row with several weight vectors, which lie side by side for each column.
//!
//! Each vector adds its terms in the stored order, so results do not depend on how many sums are held in registers at a
//! time, nor on the processor: wide registers are used where there are any, fused operations are not.
use super::row::{Column, Kind, Row};
use crate::prefetch::prefetch;

/// How many entries ahead weights are asked for: enough to cover a miss, few enough to stay in the first cache.
const LOOK_AHEAD: usize = 10;
/// Sums that are added up at a time: eight wide registers of four, or eight of two.
const WIDE: usize = 32;
const NARROW: usize = 16;
/// Weights in a line of cache.
const LINE: usize = 8;

/// The entries of a row, in one layout.
trait Entries: Copy {
    /// Whether columns lie apart, so that the processor does not see by itself where the next one is.
    const SCATTERED: bool;

    fn len(self) -> usize;

    /// # Safety
    /// `k` is below the length.
    unsafe fn column(self, k: usize) -> usize;

    /// # Safety
    /// `k` is below the length.
    unsafe fn value(self, k: usize) -> f64;
}

/// The same value in each column.
#[derive(Clone, Copy)]
struct Same<'a>(&'a [u32], f64);

impl Entries for Same<'_> {
    const SCATTERED: bool = true;

    #[inline(always)]
    fn len(self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    unsafe fn column(self, k: usize) -> usize {
        // SAFETY: the caller's.
        unsafe { self.0.get_unchecked(k) }.place()
    }

    #[inline(always)]
    unsafe fn value(self, _k: usize) -> f64 {
        self.1
    }
}

/// Columns, and as many values.
#[derive(Clone, Copy)]
struct Pairs<'a, C, V>(&'a [C], &'a [V]);

impl<C: Column, V: Copy + Into<f64>> Entries for Pairs<'_, C, V> {
    const SCATTERED: bool = true;

    #[inline(always)]
    fn len(self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    unsafe fn column(self, k: usize) -> usize {
        // SAFETY: the caller's.
        unsafe { self.0.get_unchecked(k) }.place()
    }

    #[inline(always)]
    unsafe fn value(self, k: usize) -> f64 {
        // SAFETY: the caller's, and a row has as many values as columns.
        unsafe { *self.1.get_unchecked(k) }.into()
    }
}

/// A value for every column.
#[derive(Clone, Copy)]
struct Dense<'a, V>(&'a [V]);

impl<V: Copy + Into<f64>> Entries for Dense<'_, V> {
    const SCATTERED: bool = false;

    #[inline(always)]
    fn len(self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    unsafe fn column(self, k: usize) -> usize {
        k
    }

    #[inline(always)]
    unsafe fn value(self, k: usize) -> f64 {
        // SAFETY: the caller's.
        unsafe { *self.0.get_unchecked(k) }.into()
    }
}

/// Evaluates an expression with the entries of a row in their own type.
macro_rules! in_layout {
    ($row:expr, $entries:ident => $result:expr) => {
        match $row.kind {
            Kind::Ones(columns) => {
                let $entries = Same(columns, 1.0);
                $result
            }
            Kind::Constant(columns, value) => {
                let $entries = Same(columns, value);
                $result
            }
            Kind::F32(columns, values) => {
                let $entries = Pairs(columns, values);
                $result
            }
            Kind::F64(columns, values) => {
                let $entries = Pairs(columns, values);
                $result
            }
            Kind::WideF32(columns, values) => {
                let $entries = Pairs(columns, values);
                $result
            }
            Kind::WideF64(columns, values) => {
                let $entries = Pairs(columns, values);
                $result
            }
            Kind::DenseF32(values) => {
                let $entries = Dense(values);
                $result
            }
            Kind::DenseF64(values) => {
                let $entries = Dense(values);
                $result
            }
        }
    };
}

impl Row<'_> {
    /// `out_m ← Σ_j w_jm x_j` for as many vectors as `out` has room for, which lie side by side for each column.
    ///
    /// # Panics
    /// If `w` is shorter than that takes.
    #[inline]
    pub fn dot_side_by_side(&self, w: &[f64], out: &mut [f64]) {
        assert!(w.len() >= self.columns * out.len());
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx") {
            // SAFETY: the processor has it.
            return unsafe { self.dot_wide(w, out) };
        }
        self.dot_narrow(w, out);
    }

    /// The same on any processor; the caller has checked the length.
    pub(super) fn dot_narrow(&self, w: &[f64], out: &mut [f64]) {
        in_layout!(self, entries => dot::<_, NARROW>(entries, self.columns, w, out));
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx")]
    fn dot_wide(&self, w: &[f64], out: &mut [f64]) {
        in_layout!(self, entries => dot::<_, WIDE>(entries, self.columns, w, out));
    }

    /// `w_jm ← w_jm + steps_m x_j` for the vectors m that are named, of `width` ones that lie side by side for each
    /// column.
    ///
    /// # Panics
    /// If `w` is shorter than that takes, or a vector is named that is not there.
    #[inline]
    pub fn add_side_by_side(&self, w: &mut [f64], width: usize, steps: &[(u32, f64)]) {
        assert!(w.len() >= self.columns * width && steps.iter().all(|step| (step.0 as usize) < width));
        for some in steps.chunks(MOST_STEPS) {
            // SAFETY: each column is below `self.columns`, and each vector below `width`.
            unsafe { in_layout!(self, entries => add(entries, w, width, some)) };
        }
    }
}

/// Steps that are made at a time, each with a register for its length and one for its place.
const MOST_STEPS: usize = 8;

/// # Safety
/// `column * width + vector` is within `w` for each column of the entries and each vector of the steps.
#[inline(always)]
unsafe fn add<E: Entries>(entries: E, w: &mut [f64], width: usize, steps: &[(u32, f64)]) {
    // SAFETY: the caller's.
    unsafe {
        match steps.len() {
            1 => add_steps::<E, 1>(entries, w, width, steps),
            2 => add_steps::<E, 2>(entries, w, width, steps),
            3 => add_steps::<E, 3>(entries, w, width, steps),
            4 => add_steps::<E, 4>(entries, w, width, steps),
            5 => add_steps::<E, 5>(entries, w, width, steps),
            6 => add_steps::<E, 6>(entries, w, width, steps),
            7 => add_steps::<E, 7>(entries, w, width, steps),
            _ => add_steps::<E, MOST_STEPS>(entries, w, width, steps),
        }
    }
}

/// # Safety
/// As [`add`].
#[inline(always)]
unsafe fn add_steps<E: Entries, const N: usize>(entries: E, w: &mut [f64], width: usize, steps: &[(u32, f64)]) {
    let Some(steps) = steps.first_chunk::<N>() else { return };
    let (vectors, lengths) = (steps.map(|step| step.0 as usize), steps.map(|step| step.1));
    for k in 0..entries.len() {
        // SAFETY: the caller's, and `k` is below the length.
        unsafe {
            let (at, x) = (entries.column(k) * width, entries.value(k));
            for step in 0..N {
                *w.get_unchecked_mut(at + vectors[step]) += lengths[step] * x;
            }
        }
    }
}

/// Takes `MOST` vectors at a time, the rest four by four. Where there is no fourth one, the weights of the next column
/// take part, and what comes of them is thrown away.
#[inline(always)]
fn dot<E: Entries, const MOST: usize>(entries: E, columns: usize, w: &[f64], out: &mut [f64]) {
    let width = out.len();
    // Weights of the last column from `first` on, and what lies behind them.
    let there = |first: usize| (w.len() - columns.saturating_sub(1) * width).saturating_sub(first);
    let mut first = 0;
    while first < width {
        let left = (width - first).min(MOST);
        let lanes = left.next_multiple_of(4).min(there(first));
        let out = &mut out[first..];
        // SAFETY: as many weights are there for each column, which the row has below `columns`.
        first += unsafe {
            match lanes {
                32.. => sums::<E, 32>(entries, w, width, first, out),
                28.. => sums::<E, 28>(entries, w, width, first, out),
                24.. => sums::<E, 24>(entries, w, width, first, out),
                20.. => sums::<E, 20>(entries, w, width, first, out),
                16.. => sums::<E, 16>(entries, w, width, first, out),
                12.. => sums::<E, 12>(entries, w, width, first, out),
                8.. => sums::<E, 8>(entries, w, width, first, out),
                4.. => sums::<E, 4>(entries, w, width, first, out),
                _ => sums::<E, 1>(entries, w, width, first, out),
            }
        };
    }
}

/// The sums of `N` vectors from `first` on, into as much of `out` as there is; says how many that are.
///
/// # Safety
/// `column * width + first + N` is within `w` for each column of the entries.
#[inline(always)]
unsafe fn sums<E: Entries, const N: usize>(
    entries: E,
    w: &[f64],
    width: usize,
    first: usize,
    out: &mut [f64],
) -> usize {
    let mut sums = [0.0f64; N];
    for k in 0..entries.len() {
        if E::SCATTERED {
            // SAFETY: below the length.
            let coming = unsafe { entries.column((k + LOOK_AHEAD).min(entries.len() - 1)) } * width + first;
            (0..N).step_by(LINE).for_each(|lane| prefetch(w, coming + lane));
        }
        // SAFETY: the caller promises it.
        let (weights, x) = unsafe {
            let at = entries.column(k) * width + first;
            (&*w.as_ptr().add(at).cast::<[f64; N]>(), entries.value(k))
        };
        // By index, so that the sums stay in registers.
        for lane in 0..N {
            sums[lane] += weights[lane] * x;
        }
    }
    let count = N.min(out.len());
    out[..count].copy_from_slice(&sums[..count]);
    count
}
