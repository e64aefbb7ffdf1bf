//! The reader of models: whatever lies under a right checksum, it does not panic, and what it accepts is written as it
//! was read.
use bolero::check;
use towline::model::Model;
use towline_fuzz::{Executions, test_time};

/// A header as one is written, but for what targets and features are.
const HEADER: &str = include_str!("model/header.json");

/// A model file with this header and body.
fn signed(header: &[u8], body: &[u8]) -> Vec<u8> {
    let mut bytes = b"TOWMODEL".to_vec();
    bytes.extend((header.len() as u64).to_le_bytes());
    bytes.extend(header);
    bytes.extend(body);
    bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

fn body(features: &[(u64, f64)]) -> Vec<u8> {
    let mut body = (features.len() as u64).to_le_bytes().to_vec();
    features.iter().for_each(|feature| body.extend(feature.0.to_le_bytes()));
    features.iter().for_each(|feature| body.extend(feature.1.to_le_bytes()));
    body
}

#[test]
fn model_bytes() {
    let header = HEADER.trim().as_bytes();
    Model::from_bytes(&signed(header, &body(&[(1, 0.5), (7, -2.0)]))).expect("a right model");
    let executions = Executions::default();
    type Edits = Vec<(u16, u8)>;
    check!().with_type::<(Vec<(u64, f64)>, Edits, Edits, u8)>().with_test_time(test_time()).for_each(
        |(features, of_header, of_body, kind)| {
            executions.count();
            let (mut header, mut body) = (header.to_vec(), body(features));
            for (bytes, edits) in [(&mut header, of_header), (&mut body, of_body)] {
                for &(at, byte) in edits.iter().take(if kind % 4 == 0 { 0 } else { 3 }) {
                    let length = bytes.len();
                    bytes[at as usize % length] = byte;
                }
            }
            if let Ok(model) = Model::from_bytes(&signed(&header, &body)) {
                let again = Model::from_bytes(&model.to_bytes().expect("what was read can be written"));
                assert!(again.is_ok(), "{model:?}");
            }
        },
    );
}
