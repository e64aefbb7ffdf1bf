//! Stores that lie under correct checksums.
use std::path::Path;

use serde_json::Value;

/// Changes the manifest of a store and signs it again.
pub fn manifest(store: &Path, change: impl FnOnce(&mut Value)) {
    let path = store.join("manifest.json");
    let mut envelope: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut envelope["manifest"]);
    let text = envelope["manifest"].to_string();
    std::fs::write(path, signed(&text)).unwrap();
}

/// The text of a manifest file whose manifest is `text`.
pub fn signed(text: &str) -> String {
    format!("{{\"crc32c\":\"{:08x}\",\"manifest\":{text}}}\n", crc32c::crc32c(text.as_bytes()))
}

/// Changes a file that the manifest has a checksum of, and corrects that.
pub fn listed_file(store: &Path, list: &str, change: impl FnOnce(&mut Vec<u8>)) {
    manifest(store, |manifest| {
        let entry = if manifest[list].is_array() { &mut manifest[list][0] } else { &mut manifest[list] };
        let path = store.join(entry["name"].as_str().unwrap());
        let mut bytes = std::fs::read(&path).unwrap();
        change(&mut bytes);
        std::fs::write(path, &bytes).unwrap();
        entry["bytes"] = bytes.len().into();
        entry["checksum"] = crc32c::crc32c(&bytes).into();
    });
}

/// Changes the block table. An entry has 40 bytes: offset, stored bytes, values (64 bits each), rows, file (32 bits
/// each), 8 of nothing.
pub fn table(store: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    listed_file(store, "table", change);
}

/// Corrects the checksums of the block that fills `bytes`, sections first.
pub fn sign_block(bytes: &mut [u8]) {
    const HEADER_BYTES: usize = 128;
    let mut from = HEADER_BYTES;
    for section in 0..7 {
        let at = 40 + 12 * section;
        let size = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
        let Some(body) = from.checked_add(size).and_then(|to| bytes.get(from..to)) else { break };
        let checksum = crc32c::crc32c(body);
        bytes[at + 8..at + 12].copy_from_slice(&checksum.to_le_bytes());
        from += size;
    }
    let checksum = crc32c::crc32c(&bytes[..HEADER_BYTES - 4]);
    bytes[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
}
