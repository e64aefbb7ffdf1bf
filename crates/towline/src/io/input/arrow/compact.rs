//! The compact protocol of Thrift, in which Parquet files describe themselves.
//!
//! Nothing is kept of what is read: what other crates are about to build from it can be counted first.
use std::io::{self, Read};

/// Structs within structs are never so deep in a file that is as it should be.
const DEEPEST: u32 = 16;

pub(super) const I32: u8 = 5;
pub(super) const LIST: u8 = 9;
pub(super) const STRUCT: u8 = 12;

/// Numbers, fields and lists of the protocol.
pub(super) struct Compact<R> {
    input: R,
    /// Bytes so far.
    pub read: u64,
    /// Structs so far, and items of lists.
    pub structs: u64,
}

impl<R: Read> Compact<R> {
    pub fn new(input: R) -> Self {
        Compact { input, read: 0, structs: 0 }
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.input.read_exact(&mut byte)?;
        self.read += 1;
        Ok(byte[0])
    }

    pub fn number(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(wrong())
    }

    /// A number that is never negative here.
    pub fn count(&mut self) -> io::Result<u64> {
        let zigzag = self.number()?;
        if zigzag & 1 == 1 { Err(wrong()) } else { Ok(zigzag >> 1) }
    }

    fn skip_bytes(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.input).take(bytes), &mut io::sink())?;
        self.read += skipped;
        if skipped == bytes { Ok(()) } else { Err(wrong()) }
    }

    /// The next field of a struct, number and type; none at its end.
    pub fn field(&mut self, last: &mut u64) -> io::Result<Option<(u64, u8)>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        *last = if byte >> 4 == 0 { self.count()? } else { *last + u64::from(byte >> 4) };
        Ok(Some((*last, byte & 15)))
    }

    /// The beginning of a list: how many items it has, and their type.
    pub fn list(&mut self) -> io::Result<(u64, u8)> {
        let byte = self.byte()?;
        let items = if byte >> 4 == 15 { self.number()? } else { u64::from(byte >> 4) };
        Ok((items, byte & 15))
    }

    /// Goes over something of this type, all of which has to be there.
    pub fn skip(&mut self, kind: u8) -> io::Result<()> {
        self.skip_within(kind, 0)
    }

    fn skip_within(&mut self, kind: u8, depth: u32) -> io::Result<()> {
        match kind {
            _ if depth > DEEPEST => Err(wrong()),
            // Booleans that are fields lie in the type.
            1 | 2 => Ok(()),
            3 => self.skip_bytes(1),
            4..=6 => self.number().map(|_| ()),
            7 => self.skip_bytes(8),
            8 => {
                let bytes = self.number()?;
                self.skip_bytes(bytes)
            }
            LIST | 10 => {
                let (items, kind) = self.list()?;
                (0..items).try_for_each(|_| self.skip_item(kind, depth))
            }
            11 => {
                let items = self.number()?;
                let kinds = if items > 0 { self.byte()? } else { 0 };
                (0..items).try_for_each(|_| {
                    self.skip_item(kinds >> 4, depth)?;
                    self.skip_item(kinds & 15, depth)
                })
            }
            STRUCT => {
                self.structs += 1;
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip_within(kind, depth + 1)?;
                }
                Ok(())
            }
            _ => Err(wrong()),
        }
    }

    fn skip_item(&mut self, kind: u8, depth: u32) -> io::Result<()> {
        self.structs += u64::from(kind != STRUCT);
        match kind {
            1 | 2 => self.skip_bytes(1),
            kind => self.skip_within(kind, depth + 1),
        }
    }
}

/// What is read is not in the protocol, or not as it should be.
pub(super) fn wrong() -> io::Error {
    io::ErrorKind::InvalidData.into()
}
