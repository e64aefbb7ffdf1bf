//! A checked cursor over the bytes of a section.
use super::FormatError;

pub struct Bytes<'a> {
    section: &'static str,
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub fn new(section: &'static str, rest: &'a [u8]) -> Self {
        Bytes { section, rest }
    }

    pub fn error(&self, problem: impl Into<String>) -> FormatError {
        FormatError::new(self.section, problem)
    }

    pub fn take(&mut self, bytes: usize) -> Result<&'a [u8], FormatError> {
        if bytes > self.rest.len() {
            return Err(self.error("ends too early"));
        }
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        Ok(taken)
    }

    /// `count` items of `N` bytes each.
    pub fn items<const N: usize>(&mut self, count: usize) -> Result<&'a [[u8; N]], FormatError> {
        let bytes = count.checked_mul(N).ok_or_else(|| self.error("ends too early"))?;
        Ok(self.take(bytes)?.as_chunks::<N>().0)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        Ok(self.items::<N>(1)?[0])
    }

    pub fn u8(&mut self) -> Result<u8, FormatError> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u16(&mut self) -> Result<u16, FormatError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> Result<u32, FormatError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64, FormatError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub fn f64(&mut self) -> Result<f64, FormatError> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// Nothing may be left over.
    pub fn finish(self) -> Result<(), FormatError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.error("has bytes left over")) }
    }
}
