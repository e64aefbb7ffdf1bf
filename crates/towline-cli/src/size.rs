//! Sizes as people type and read them.
use bytesize::ByteSize;

/// Reads `512M`, `1.5GiB`, `300000`. As in other tools of memory, `M` is 2^20 bytes.
pub fn parse(text: &str) -> Result<u64, String> {
    let spelled = text.trim();
    let (number, unit) = spelled.split_at(spelled.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(spelled.len()));
    let binary = match unit.to_ascii_uppercase().as_str() {
        "K" => "KiB",
        "M" => "MiB",
        "G" => "GiB",
        "T" => "TiB",
        _ => unit,
    };
    let size: ByteSize = format!("{number}{binary}")
        .parse()
        .map_err(|_| format!("'{text}' is not a size; write it as 512M, 1.5G or a number of bytes"))?;
    Ok(size.as_u64())
}

/// `512.0 MiB`.
pub fn show(bytes: u64) -> String {
    ByteSize(bytes).display().iec().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_typed() {
        let cases = [
            ("512M", 512 << 20),
            ("1.5G", 3 << 29),
            ("300000", 300_000),
            ("64k", 64 << 10),
            ("2GiB", 2 << 30),
            ("1MB", 1_000_000),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        assert!(parse("lots").is_err());
        assert!(parse("").is_err());
        assert!(parse("-5M").is_err());
    }
}
