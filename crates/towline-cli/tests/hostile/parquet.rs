//! Parquet files that are written by hand, in the compact protocol of Thrift, because no honest writer makes them.
use super::{limited, store};
use crate::workbench::Workbench;

/// A struct on its way.
#[derive(Default)]
struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;
/// The physical type of text.
const TEXT: u64 = 6;

fn number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

impl Struct {
    fn field(mut self, id: u8, kind: u8) -> Self {
        self.bytes.push((id - self.last) << 4 | kind);
        self.last = id;
        self
    }

    fn integer(self, id: u8, kind: u8, value: u64) -> Self {
        let mut this = self.field(id, kind);
        number(value << 1, &mut this.bytes);
        this
    }

    fn text(self, id: u8, text: &str) -> Self {
        let mut this = self.field(id, BINARY);
        number(text.len() as u64, &mut this.bytes);
        this.bytes.extend(text.as_bytes());
        this
    }

    fn inner(self, id: u8, inner: Struct) -> Self {
        let mut this = self.field(id, STRUCT);
        this.bytes.extend(inner.end());
        this
    }

    fn list(self, id: u8, kind: u8, items: Vec<Vec<u8>>) -> Self {
        let mut this = self.field(id, LIST);
        this.bytes.push((items.len() as u8) << 4 | kind);
        this.bytes.extend(items.concat());
        this
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn new() -> Struct {
    Struct::default()
}

/// A run of one value: levels, and places in a dictionary.
fn run(count: u64, value: u8) -> Vec<u8> {
    let mut out = Vec::new();
    number(count << 1, &mut out);
    out.push(value);
    out
}

fn with_length(bytes: Vec<u8>) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes()[..], &bytes].concat()
}

struct Column {
    name: &'static str,
    kind: u64,
    repetition: u64,
    values: u64,
    dictionary: Vec<u8>,
    page: Vec<u8>,
}

/// A file with one row group.
fn file(rows: u64, columns: &[Column]) -> Vec<u8> {
    let mut out = b"PAR1".to_vec();
    let mut schema = vec![new().text(4, "root").integer(5, I32, columns.len() as u64).end()];
    let mut chunks = Vec::new();
    for column in columns {
        let element = new().integer(1, I32, column.kind).integer(3, I32, column.repetition).text(4, column.name);
        // Bytes are text.
        schema.push(if column.kind == TEXT { element.integer(6, I32, 0).end() } else { element.end() });
        let begin = out.len() as u64;
        for (is_data, body) in [(false, &column.dictionary), (true, &column.page)] {
            let size = body.len() as u64;
            let header = new().integer(1, I32, if is_data { 0 } else { 2 }).integer(2, I32, size).integer(3, I32, size);
            let header = match is_data {
                true => header.inner(
                    5,
                    new().integer(1, I32, column.values).integer(2, I32, 8).integer(3, I32, 3).integer(4, I32, 3),
                ),
                false => header.inner(7, new().integer(1, I32, 1).integer(2, I32, 0)),
            };
            out.extend(header.end());
            out.extend(body);
        }
        let size = out.len() as u64 - begin;
        let mut name = Vec::new();
        number(column.name.len() as u64, &mut name);
        name.extend(column.name.as_bytes());
        let data = out.len() as u64 - column.page.len() as u64;
        let header_begin = begin;
        let metadata = new()
            .integer(1, I32, column.kind)
            .list(2, I32, vec![vec![0], vec![16]])
            .list(3, BINARY, vec![name])
            .integer(4, I32, 0)
            .integer(5, I64, column.values)
            .integer(6, I64, size)
            .integer(7, I64, size)
            .integer(9, I64, data)
            .integer(11, I64, header_begin);
        chunks.push(new().integer(2, I64, begin).inner(3, metadata).end());
    }
    let group = new().list(1, STRUCT, chunks).integer(2, I64, out.len() as u64).integer(3, I64, rows).end();
    let footer =
        new().integer(1, I32, 1).list(2, STRUCT, schema).integer(3, I64, rows).list(4, STRUCT, vec![group]).end();
    out.extend(&footer);
    out.extend((footer.len() as u32).to_le_bytes());
    out.extend(b"PAR1");
    out
}

fn labels(rows: u64) -> Column {
    let page = [vec![1], run(rows, 0)].concat();
    Column { name: "y", kind: 1, repetition: 0, values: rows, dictionary: 1i32.to_le_bytes().to_vec(), page }
}

/// One list of so many ones.
fn one_list(items: u64) -> Vec<u8> {
    let repetition = with_length([run(1, 0), run(items - 1, 1)].concat());
    let page = [repetition, with_length(run(items, 1)), vec![1], run(items, 0)].concat();
    let list =
        Column { name: "a", kind: 1, repetition: 2, values: items, dictionary: 1i32.to_le_bytes().to_vec(), page };
    file(1, &[labels(1), list])
}

#[test]
fn a_list_that_is_longer_than_memory_is_refused() {
    let bench = Workbench::new();
    bench.file("short.parquet", one_list(5));
    bench.ok("pack short.parquet -o short.tow -q --memory 64M");
    assert_eq!(bench.ok("cat short.tow"), "1 a[0]:1 a[1]:1 a[2]:1 a[3]:1 a[4]:1\n");
    let bytes = one_list(200_000_000);
    assert!(bytes.len() < 1000);
    bench.file("long.parquet", bytes);
    let ended = limited(&bench, 1024, "pack long.parquet -o long.tow -q --memory 64M --threads 2");
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("Parquet pages"), "{}", ended.stderr);
    assert!(!bench.path("long.tow").exists());
}

#[test]
fn a_text_that_occurs_often_is_held_once() {
    let bench = store();
    let (rows, text) = (60_000, vec![b'x'; 100_000]);
    let dictionary = with_length(text);
    let page = [vec![1], run(rows, 0)].concat();
    let column = Column { name: "a", kind: TEXT, repetition: 0, values: rows, dictionary, page };
    bench.file("text.parquet", file(rows, &[labels(rows), column]));
    let ended = limited(&bench, 2048, "pack text.parquet -o text.tow -q --memory 64M --threads 2 --category a");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

/// A list of lengths as DELTA_BINARY_PACKED has it: `count` times the same number, in blocks of which each says so in a
/// few bytes.
fn same_lengths(count: u64, length: u64) -> Vec<u8> {
    const VALUES: u64 = 1 << 22;
    let mut out = Vec::new();
    [VALUES, 1, count].into_iter().for_each(|part| number(part, &mut out));
    number(length << 1, &mut out);
    // The least difference is 0, and so are the bits of all others.
    (0..(count - 1).div_ceil(VALUES)).for_each(|_| out.extend([0, 0]));
    out
}

/// A file whose text is in DELTA_BYTE_ARRAY (7) or DELTA_LENGTH_BYTE_ARRAY (6).
fn text_file(rows: u64, encoding: u64, page: Vec<u8>) -> Vec<u8> {
    let column =
        Column { name: "a", kind: TEXT, repetition: 0, values: rows, dictionary: with_length(vec![b'x']), page };
    let bytes = file(rows, &[labels(rows), column]);
    // The helper writes headers for places in a dictionary; the last such header is that of the text.
    let old: Vec<u8> = {
        let mut header = Vec::new();
        number(rows << 1, &mut header);
        [&[0x15][..], &header, &[0x15, 16]].concat()
    };
    let at = bytes.windows(old.len()).rposition(|window| window == old).unwrap();
    let mut bytes = bytes;
    bytes[at + old.len() - 1] = (encoding << 1) as u8;
    bytes
}

/// Lengths of so many texts, 128 of which and one more, or several times as many: the first one, and all others, which
/// differ from it by this.
fn lengths(rows: u64, first: u32, difference: i32) -> Vec<u8> {
    let mut out = Vec::new();
    [128, 4, rows, u64::from(first) << 1].into_iter().for_each(|part| number(part, &mut out));
    let least = difference.min(0);
    number(u64::from(((least << 1) ^ (least >> 31)) as u32), &mut out);
    out.extend([32; 4]);
    let values = std::iter::once(difference).chain([0; 127]);
    values.for_each(|value| out.extend(((value - least) as u32).to_le_bytes()));
    (1..(rows - 1) / 128).for_each(|_| out.extend([0; 5]));
    out
}

/// A text, and then the same one again and again: each says that all of it is that of the one before.
fn repeated(rows: u64, text: &[u8]) -> Vec<u8> {
    let length = text.len() as u32;
    [lengths(rows, 0, length as i32), lengths(rows, length, -(length as i32)), text.to_vec()].concat()
}

#[test]
fn text_that_is_put_together_is_paid_for() {
    let bench = store();
    let text = vec![b'x'; 100_000];
    bench.file("few.parquet", text_file(129, 7, repeated(129, &text)));
    let ended = limited(&bench, 1024, "pack few.parquet -o few.tow -q --memory 64M --threads 2 --category a");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    // Six gigabytes of text in a hundred kilobytes.
    let bytes = text_file(59_905, 7, repeated(59_905, &text));
    assert!(bytes.len() < 200_000);
    bench.file("many.parquet", bytes);
    let ended = limited(&bench, 1024, "pack many.parquet -o many.tow -q --memory 64M --threads 2 --category a");
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("Parquet pages"), "{}", ended.stderr);
}

#[test]
fn lists_of_lengths_are_paid_for() {
    let bench = store();
    for encoding in [6, 7] {
        let none = same_lengths(2_000_000_000, 0);
        let mut head = Vec::new();
        [128, 4, 1 << 40, 0].into_iter().for_each(|part| number(part, &mut head));
        // As many lengths as the page says it has values, and far more.
        for (rows, page, code) in [(2_000_000_000, [none.clone(), none].concat(), 3), (5, head, 4)] {
            bench.file("lengths.parquet", text_file(rows, encoding, page));
            let ended = limited(&bench, 1024, "pack lengths.parquet -o l.tow -q --memory 64M --threads 2 --category a");
            assert_eq!(ended.code, Some(code), "{encoding}: {}", ended.stderr);
            assert!(!bench.path("l.tow").exists());
        }
    }
}

/// A footer with the bytes of a right one before its end.
fn with_footer(footer: &[u8]) -> Vec<u8> {
    [b"PAR1", footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
}

#[test]
fn footers_that_claim_much_are_refused() {
    let bench = store();
    let schema = || {
        let root = new().text(4, "root").integer(5, I32, 1).end();
        let leaf = new().integer(1, I32, 1).integer(3, I32, 0).text(4, "y").end();
        new().integer(1, I32, 1).list(2, STRUCT, vec![root, leaf]).integer(3, I64, 1)
    };
    let mut groups = schema().field(4, LIST);
    groups.bytes.extend([0xf0 | STRUCT, 0xff, 0xff, 0xff, 0xff, 0x07]);
    let children =
        new().integer(1, I32, 1).list(2, STRUCT, vec![new().text(4, "r").integer(5, I32, 2_000_000_000).end()]);
    let mut deep = new().integer(1, I32, 1).field(2, LIST);
    deep.bytes.push(0xf0 | STRUCT);
    number(200_000, &mut deep.bytes);
    let nested = new().integer(3, I32, 0).text(4, "n").integer(5, I32, 1).end();
    (0..200_000).for_each(|_| deep.bytes.extend(&nested));
    for (name, footer) in [("groups", groups), ("children", children), ("deep", deep)] {
        bench.file("f.parquet", with_footer(&footer.end()));
        let ended = limited(&bench, 1024, "pack f.parquet -o f.tow -q --memory 64M --label y");
        assert_eq!(ended.code, Some(4), "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains("Parquet"), "{name}: {}", ended.stderr);
    }
}
