//! Arrays of a block: its own, or those of somebody else.
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Numbers that a block owns, or that stay where their owner keeps them until they are changed.
#[derive(Clone)]
pub struct Cells<T: 'static>(Kind<T>);

#[derive(Clone)]
enum Kind<T: 'static> {
    Owned(Vec<T>),
    Shared(Shared<T>),
}

/// A slice, and what keeps it alive.
#[derive(Clone)]
struct Shared<T: 'static> {
    numbers: &'static [T],
    _owner: Arc<dyn Send + Sync>,
}

impl<T> Cells<T> {
    /// The numbers of `owner`, without a copy.
    pub fn shared<O: AsRef<[T]> + Send + Sync + 'static>(owner: Arc<O>) -> Self {
        let numbers: *const [T] = (*owner).as_ref();
        // SAFETY: what an Arc holds neither moves nor changes while there is more than one handle to it, and one stays
        // beside the slice.
        Cells(Kind::Shared(Shared { numbers: unsafe { &*numbers }, _owner: owner }))
    }
}

impl<T: Copy> Cells<T> {
    /// The numbers as the block's own, for changes: those of somebody else are copied now.
    pub(crate) fn own(&mut self) -> &mut Vec<T> {
        if let Kind::Shared(shared) = &self.0 {
            self.0 = Kind::Owned(shared.numbers.to_vec());
        }
        match &mut self.0 {
            Kind::Owned(numbers) => numbers,
            Kind::Shared(..) => unreachable!("they were copied above"),
        }
    }
}

impl<T> Deref for Cells<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Kind::Owned(numbers) => numbers,
            Kind::Shared(shared) => shared.numbers,
        }
    }
}

impl<T> From<Vec<T>> for Cells<T> {
    fn from(numbers: Vec<T>) -> Self {
        Cells(Kind::Owned(numbers))
    }
}

impl<T> Default for Cells<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: fmt::Debug> fmt::Debug for Cells<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

/// The columns of values.
#[derive(Clone, Debug)]
pub enum Columns {
    /// As blocks keep them.
    Narrow(Cells<u32>),
    /// As other programs may have them. All are below 2^32.
    Wide(Cells<u64>),
}

impl Columns {
    /// The columns as the block's own, for changes.
    pub(crate) fn own(&mut self) -> &mut Vec<u32> {
        if let Columns::Wide(columns) = self {
            *self = Columns::Narrow(narrow(columns).into());
        }
        match self {
            Columns::Narrow(columns) => columns.own(),
            Columns::Wide(_) => unreachable!("they were copied above"),
        }
    }

    /// The columns as blocks keep them.
    pub(crate) fn narrow(&self) -> Cow<'_, [u32]> {
        match self {
            Columns::Narrow(columns) => Cow::Borrowed(columns),
            Columns::Wide(columns) => Cow::Owned(narrow(columns)),
        }
    }
}

impl Default for Columns {
    fn default() -> Self {
        Columns::Narrow(Cells::default())
    }
}

fn narrow(columns: &[u64]) -> Vec<u32> {
    columns.iter().map(|&column| column as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_somebody_else_stay_where_they_are_until_they_are_changed() {
        let owner = Arc::new(vec![1.0f32, 2.0]);
        let mut cells = Cells::shared(owner.clone());
        let copy = cells.clone();
        assert_eq!(cells.as_ptr(), owner.as_ptr());
        cells.own().push(3.0);
        assert_eq!((&cells[..], &copy[..]), (&[1.0, 2.0, 3.0][..], &[1.0, 2.0][..]));
        drop(cells);
        assert_eq!(Arc::strong_count(&owner), 2);
    }
}
