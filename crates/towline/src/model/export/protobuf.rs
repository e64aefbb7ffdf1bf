//! Messages of Protocol Buffers, as far as ONNX needs them (encoding guide: wire types 0, 2 and 5).

/// A message that grows field by field.
#[derive(Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    /// An empty one.
    pub fn new() -> Message {
        Message::default()
    }

    /// Its bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// A whole number.
    pub fn integer(mut self, field: u64, number: i64) -> Message {
        self.varint(field << 3);
        self.varint(number as u64);
        self
    }

    /// Bytes.
    pub fn bytes(mut self, field: u64, bytes: &[u8]) -> Message {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Text.
    pub fn text(self, field: u64, text: &str) -> Message {
        self.bytes(field, text.as_bytes())
    }

    /// Another message.
    pub fn message(self, field: u64, other: Message) -> Message {
        self.bytes(field, &other.0)
    }

    /// Several others.
    pub fn messages(self, field: u64, others: Vec<Message>) -> Message {
        others.into_iter().fold(self, |message, other| message.message(field, other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_encoding_guide() {
        assert_eq!(Message::new().integer(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        assert_eq!(Message::new().text(2, "testing").into_bytes(), b"\x12\x07testing");
        let inner = Message::new().integer(1, 150);
        assert_eq!(Message::new().message(3, inner).into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(Message::new().integer(1, -1).into_bytes().len(), 11);
    }
}
