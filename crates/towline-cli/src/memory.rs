//! How much memory a run may have.
use towline::budget::Budget;
use towline::machine;

use crate::{program, size};

/// What is typed after `--memory`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// `512M`: for the whole process.
    Whole(u64),
    /// `+512M`: for data, beside what the program itself takes.
    Beside(u64),
}

/// Reads `512M` or `+512M`.
pub fn parse(text: &str) -> Result<Memory, String> {
    match text.trim().strip_prefix('+') {
        Some(size) => size::parse(size).map(Memory::Beside),
        None => size::parse(text).map(Memory::Whole),
    }
}

/// The budget of a run, of which the program itself has its part.
pub fn budget(memory: Option<Memory>) -> Budget {
    let program_bytes = program::resident_bytes();
    let bytes = match memory {
        Some(Memory::Whole(bytes)) => bytes,
        Some(Memory::Beside(bytes)) => bytes.saturating_add(program_bytes),
        None => machine::default_memory_bytes(),
    };
    Budget::of_process(bytes, program_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plus_is_beside_the_program() {
        assert_eq!(parse("64M"), Ok(Memory::Whole(64 << 20)));
        assert_eq!(parse("+64M"), Ok(Memory::Beside(64 << 20)));
        assert!(parse("++64M").is_err() && parse("+").is_err() && parse("+-1").is_err());
        let program_bytes = program::resident_bytes();
        assert!(program_bytes > 1 << 20);
        assert_eq!(budget(Some(Memory::Beside(1000))).free_bytes(), 1000);
        assert_eq!(budget(Some(Memory::Whole(1000))).free_bytes(), 0);
    }
}
