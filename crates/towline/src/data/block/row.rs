//! One row and the kernels that every solver is written with: dot, add, norm, iterate.
//!
//! A row knows the number of columns of its block, which is above each of its indices (the block checks that when rows
//! come in). One comparison against the length of the dense vector therefore makes every access of the loop valid, and
//! the loops themselves run without bounds checks.

/// A borrowed row: which columns, and which values.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Every index of `kind` is below this.
    pub(super) columns: usize,
    pub(super) kind: Kind<'a>,
}

/// How the values of a row lie in memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind<'a> {
    /// Every value is 1.
    Ones(&'a [u32]),
    /// Every value is the same number.
    Constant(&'a [u32], f64),
    F32(&'a [u32], &'a [f32]),
    F64(&'a [u32], &'a [f64]),
    /// Columns of another program.
    WideF32(&'a [u64], &'a [f32]),
    WideF64(&'a [u64], &'a [f64]),
    /// Every column is present, in order.
    DenseF32(&'a [f32]),
    DenseF64(&'a [f64]),
}

impl<'a> Row<'a> {
    /// The caller promises that each index is below `columns`, and that indices and values are of one length.
    pub(super) fn new(columns: usize, kind: Kind<'a>) -> Self {
        Row { columns, kind }
    }

    /// A row that holds every column.
    pub(crate) fn dense(values: &'a [f64]) -> Self {
        Row::new(values.len(), Kind::DenseF64(values))
    }

    /// How many values are stored.
    pub fn len(&self) -> usize {
        match self.kind {
            Kind::Ones(columns) | Kind::Constant(columns, _) | Kind::F32(columns, _) | Kind::F64(columns, _) => {
                columns.len()
            }
            Kind::WideF32(columns, _) | Kind::WideF64(columns, _) => columns.len(),
            Kind::DenseF32(values) => values.len(),
            Kind::DenseF64(values) => values.len(),
        }
    }

    /// Whether the row has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `Σ_j w_j x_j`.
    ///
    /// # Panics
    /// If `w` is shorter than the block has columns.
    #[inline]
    pub fn dot(&self, w: &[f64]) -> f64 {
        assert!(w.len() >= self.columns);
        // SAFETY (all six): each index is below `self.columns`, which the assertion holds against `w`.
        match self.kind {
            Kind::Ones(columns) => unsafe { gather_sum(columns, w, |_| 1.0) },
            Kind::Constant(columns, value) => value * unsafe { gather_sum(columns, w, |_| 1.0) },
            Kind::F32(columns, values) => unsafe { gather_sum(columns, w, |k| *values.get_unchecked(k) as f64) },
            Kind::F64(columns, values) => unsafe { gather_sum(columns, w, |k| *values.get_unchecked(k)) },
            Kind::WideF32(columns, values) => unsafe { gather_sum(columns, w, |k| *values.get_unchecked(k) as f64) },
            Kind::WideF64(columns, values) => unsafe { gather_sum(columns, w, |k| *values.get_unchecked(k)) },
            Kind::DenseF32(values) => dense_sum(values, w, |v| v as f64),
            Kind::DenseF64(values) => dense_sum(values, w, |v| v),
        }
    }

    /// `w ← w + scale · x`.
    ///
    /// # Panics
    /// If `w` is shorter than the block has columns.
    #[inline]
    pub fn add_to(&self, w: &mut [f64], scale: f64) {
        assert!(w.len() >= self.columns);
        // SAFETY (all six): as in `dot`.
        match self.kind {
            Kind::Ones(columns) => unsafe { scatter_add(columns, w, |_| scale) },
            Kind::Constant(columns, value) => unsafe { scatter_add(columns, w, |_| scale * value) },
            Kind::F32(columns, values) => unsafe {
                scatter_add(columns, w, |k| scale * *values.get_unchecked(k) as f64)
            },
            Kind::F64(columns, values) => unsafe { scatter_add(columns, w, |k| scale * *values.get_unchecked(k)) },
            Kind::WideF32(columns, values) => unsafe {
                scatter_add(columns, w, |k| scale * *values.get_unchecked(k) as f64)
            },
            Kind::WideF64(columns, values) => unsafe { scatter_add(columns, w, |k| scale * *values.get_unchecked(k)) },
            Kind::DenseF32(values) => values.iter().zip(w).for_each(|(&v, w)| *w += scale * v as f64),
            Kind::DenseF64(values) => values.iter().zip(w).for_each(|(&v, w)| *w += scale * v),
        }
    }

    /// `Σ_j map(j, u_j) x_j`: [`Row::dot`] with weights that are made from `u` on the way.
    ///
    /// # Panics
    /// If `u` is shorter than the block has columns.
    #[inline]
    pub fn dot_mapped(&self, u: &[f64], map: impl Fn(usize, f64) -> f64) -> f64 {
        assert!(u.len() >= self.columns);
        // SAFETY (all six): as in `dot`.
        match self.kind {
            Kind::Ones(columns) => unsafe { gather_mapped(columns, u, map, |_| 1.0) },
            Kind::Constant(columns, value) => value * unsafe { gather_mapped(columns, u, map, |_| 1.0) },
            Kind::F32(columns, values) => unsafe {
                gather_mapped(columns, u, map, |k| *values.get_unchecked(k) as f64)
            },
            Kind::F64(columns, values) => unsafe { gather_mapped(columns, u, map, |k| *values.get_unchecked(k)) },
            Kind::WideF32(columns, values) => unsafe {
                gather_mapped(columns, u, map, |k| *values.get_unchecked(k) as f64)
            },
            Kind::WideF64(columns, values) => unsafe { gather_mapped(columns, u, map, |k| *values.get_unchecked(k)) },
            Kind::DenseF32(values) => (0..).zip(values.iter().zip(u)).map(|(j, (&x, &u))| map(j, u) * x as f64).sum(),
            Kind::DenseF64(values) => (0..).zip(values.iter().zip(u)).map(|(j, (&x, &u))| map(j, u) * x).sum(),
        }
    }

    /// `Σ_j x_j²`.
    pub fn sq_norm(&self) -> f64 {
        match self.kind {
            Kind::Ones(columns) => columns.len() as f64,
            Kind::Constant(columns, value) => columns.len() as f64 * value * value,
            Kind::F32(_, values) | Kind::WideF32(_, values) | Kind::DenseF32(values) => {
                values.iter().map(|&v| v as f64 * v as f64).sum()
            }
            Kind::F64(_, values) | Kind::WideF64(_, values) | Kind::DenseF64(values) => {
                values.iter().map(|&v| v * v).sum()
            }
        }
    }

    /// `Σ_j h_j x_j²`.
    ///
    /// # Panics
    /// If `h` is shorter than the block has columns.
    pub fn weighted_sq_norm(&self, h: &[f64]) -> f64 {
        assert!(h.len() >= self.columns);
        let mut sum = 0.0;
        // SAFETY: the column is below `self.columns`, which the assertion holds against `h`.
        self.for_each(|column, x| sum += unsafe { h.get_unchecked(column as usize) } * x * x);
        sum
    }

    /// `w_j ← w_j + scale · h_j x_j`.
    ///
    /// # Panics
    /// If `w` or `h` is shorter than the block has columns.
    #[inline]
    pub fn add_weighted_to(&self, w: &mut [f64], h: &[f64], scale: f64) {
        assert!(w.len() >= self.columns && h.len() >= self.columns);
        self.for_each(|column, x| {
            // SAFETY: the column is below `self.columns`, which the assertion holds against both.
            unsafe { *w.get_unchecked_mut(column as usize) += scale * x * h.get_unchecked(column as usize) };
        });
    }

    /// Calls `f` with the column and value of each stored entry, in the stored order: [`Row::iter`] without a choice
    /// per entry.
    #[inline]
    pub fn for_each(&self, mut f: impl FnMut(u32, f64)) {
        match self.kind {
            Kind::Ones(columns) => columns.iter().for_each(|&c| f(c, 1.0)),
            Kind::Constant(columns, value) => columns.iter().for_each(|&c| f(c, value)),
            Kind::F32(columns, values) => columns.iter().zip(values).for_each(|(&c, &v)| f(c, v as f64)),
            Kind::F64(columns, values) => columns.iter().zip(values).for_each(|(&c, &v)| f(c, v)),
            Kind::WideF32(columns, values) => columns.iter().zip(values).for_each(|(&c, &v)| f(c as u32, v as f64)),
            Kind::WideF64(columns, values) => columns.iter().zip(values).for_each(|(&c, &v)| f(c as u32, v)),
            Kind::DenseF32(values) => (0..).zip(values).for_each(|(c, &v)| f(c, v as f64)),
            Kind::DenseF64(values) => (0..).zip(values).for_each(|(c, &v)| f(c, v)),
        }
    }

    /// Puts the values of columns from `first` on into `place`, as many as it has. `begin` is the first stored entry
    /// that is not below `first`; returns the one for the columns behind.
    pub(crate) fn scatter(&self, begin: usize, first: usize, place: &mut [f64]) -> usize {
        let end = first + place.len();
        let mut at = begin;
        let mut put = |column: usize, value: f64| {
            let inside = column < end;
            if inside {
                place[column - first] = value;
                at += 1;
            }
            inside
        };
        match self.kind {
            Kind::Ones(columns) => columns[begin..].iter().all(|&c| put(c as usize, 1.0)),
            Kind::Constant(columns, value) => columns[begin..].iter().all(|&c| put(c as usize, value)),
            Kind::F32(columns, v) => columns[begin..].iter().zip(&v[begin..]).all(|(&c, &v)| put(c as usize, v as f64)),
            Kind::F64(columns, v) => columns[begin..].iter().zip(&v[begin..]).all(|(&c, &v)| put(c as usize, v)),
            Kind::WideF32(columns, v) => {
                columns[begin..].iter().zip(&v[begin..]).all(|(&c, &v)| put(c as usize, v as f64))
            }
            Kind::WideF64(columns, v) => columns[begin..].iter().zip(&v[begin..]).all(|(&c, &v)| put(c as usize, v)),
            Kind::DenseF32(v) => (begin..).zip(&v[begin..]).all(|(c, &v)| put(c, v as f64)),
            Kind::DenseF64(v) => (begin..).zip(&v[begin..]).all(|(c, &v)| put(c, v)),
        };
        at
    }

    /// Column and value of each stored entry, in the stored order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, f64)> + 'a {
        let kind = self.kind;
        (0..self.len()).map(move |k| match kind {
            Kind::Ones(columns) => (columns[k], 1.0),
            Kind::Constant(columns, value) => (columns[k], value),
            Kind::F32(columns, values) => (columns[k], values[k] as f64),
            Kind::F64(columns, values) => (columns[k], values[k]),
            Kind::WideF32(columns, values) => (columns[k] as u32, values[k] as f64),
            Kind::WideF64(columns, values) => (columns[k] as u32, values[k]),
            Kind::DenseF32(values) => (k as u32, values[k] as f64),
            Kind::DenseF64(values) => (k as u32, values[k]),
        })
    }
}

/// The number of a column, in either width.
pub(super) trait Column: Copy {
    fn place(self) -> usize;
}

impl Column for u32 {
    #[inline(always)]
    fn place(self) -> usize {
        self as usize
    }
}

impl Column for u64 {
    #[inline(always)]
    fn place(self) -> usize {
        self as usize
    }
}

/// # Safety
/// As [`gather_mapped`].
#[inline(always)]
unsafe fn gather_sum<C: Column>(columns: &[C], w: &[f64], value: impl Fn(usize) -> f64) -> f64 {
    // SAFETY: the caller promises it.
    unsafe { gather_mapped(columns, w, |_, w| w, value) }
}

/// Four partial sums hide the latency of the additions; their order is fixed, so results are reproducible.
///
/// # Safety
/// Each of `columns` is below `w.len()`, and `value(k)` is valid for `k < columns.len()`.
#[inline(always)]
unsafe fn gather_mapped<C: Column>(
    columns: &[C],
    w: &[f64],
    map: impl Fn(usize, f64) -> f64,
    value: impl Fn(usize) -> f64,
) -> f64 {
    let term = |k: usize| {
        // SAFETY: k < columns.len() below, and the caller promises the rest.
        let column = unsafe { *columns.get_unchecked(k) }.place();
        map(column, unsafe { *w.get_unchecked(column) }) * value(k)
    };
    let mut sums = [0.0f64; 4];
    let quads = columns.len() / 4;
    for quad in 0..quads {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum += term(4 * quad + lane);
        }
    }
    let mut sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for k in 4 * quads..columns.len() {
        sum += term(k);
    }
    sum
}

/// # Safety
/// As [`gather_mapped`].
#[inline(always)]
unsafe fn scatter_add<C: Column>(columns: &[C], w: &mut [f64], step: impl Fn(usize) -> f64) {
    for (k, &column) in columns.iter().enumerate() {
        // SAFETY: the caller promises that each column is below w.len().
        unsafe { *w.get_unchecked_mut(column.place()) += step(k) };
    }
}

#[inline(always)]
fn dense_sum<V: Copy>(values: &[V], w: &[f64], widen: impl Fn(V) -> f64) -> f64 {
    let mut sums = [0.0f64; 8];
    let (chunks, rest) = values.as_chunks::<8>();
    let (w_chunks, w_rest) = w[..values.len()].as_chunks::<8>();
    for (v, w) in chunks.iter().zip(w_chunks) {
        for lane in 0..8 {
            sums[lane] += widen(v[lane]) * w[lane];
        }
    }
    let tail: f64 = rest.iter().zip(w_rest).map(|(&v, &w)| widen(v) * w).sum();
    sums.iter().sum::<f64>() + tail
}
