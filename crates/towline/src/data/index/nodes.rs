//! The node table: 40 bytes a node, in the order of their pages.
use crate::store::format;

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 40;
/// The parent of a root.
pub const NO_NODE: u32 = u32::MAX;

/// A node: a page of pivots with a child for each, or a page of rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// Where its page begins; not in the table, since pages follow each other.
    pub offset: u64,
    /// Bytes of its page.
    pub bytes: u32,
    /// Rows in its page.
    pub rows: u32,
    /// Values in its page.
    pub values: u64,
    /// Rows in all leaves below.
    pub below: u32,
    /// Its first child, whose brothers follow, one per pivot; 0 for a leaf.
    pub first_child: u32,
    /// Its parent, or [`NO_NODE`].
    pub parent: u32,
    /// The least cosine of the angle between its pivot and a row below it; -1 for a root.
    pub least_cosine: f32,
    /// The least length of a row below.
    pub least_length: f32,
    /// The largest length of a row below.
    pub largest_length: f32,
}

impl Node {
    /// Whether its page holds rows.
    pub fn is_leaf(&self) -> bool {
        self.first_child == 0
    }

    /// Its children.
    pub fn children(&self) -> std::ops::Range<u32> {
        if self.is_leaf() { 0..0 } else { self.first_child..self.first_child + self.rows }
    }

    /// Appends its entry.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes.to_le_bytes());
        out.extend_from_slice(&self.rows.to_le_bytes());
        out.extend_from_slice(&self.values.to_le_bytes());
        out.extend_from_slice(&self.below.to_le_bytes());
        out.extend_from_slice(&self.first_child.to_le_bytes());
        out.extend_from_slice(&self.parent.to_le_bytes());
        for float in [self.least_cosine, self.least_length, self.largest_length] {
            out.extend_from_slice(&float.to_le_bytes());
        }
    }

    fn parse(entry: &[u8; ENTRY_BYTES]) -> Node {
        let word = |at: usize| -> [u8; 4] { std::array::from_fn(|k| entry[at + k]) };
        let u32_at = |at: usize| u32::from_le_bytes(word(at));
        let f32_at = |at: usize| f32::from_le_bytes(word(at));
        Node {
            offset: 0,
            bytes: u32_at(0),
            rows: u32_at(4),
            values: u64::from_le_bytes(std::array::from_fn(|k| entry[8 + k])),
            below: u32_at(16),
            first_child: u32_at(20),
            parent: u32_at(24),
            least_cosine: f32_at(28),
            least_length: f32_at(32),
            largest_length: f32_at(36),
        }
    }
}

/// Parses a table and holds it against itself and against what the manifests say: every node but a root is the child of
/// one before it, pages fill their file, and leaves hold as many rows as the store.
pub fn parse(bytes: &[u8], page_bytes: u64, store_rows: u64) -> Result<Vec<Node>, String> {
    let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
    if !rest.is_empty() || entries.len() >= NO_NODE as usize {
        return Err("the node table has an impossible size".into());
    }
    let mut nodes: Vec<Node> = entries.iter().map(Node::parse).collect();
    let (mut offset, mut rows) = (0u64, 0u64);
    for node in &mut nodes {
        node.offset = offset;
        offset += u64::from(node.bytes);
        if node.is_leaf() {
            rows += u64::from(node.rows);
        }
    }
    if offset != page_bytes {
        return Err("the pages do not add up to the size of their file".into());
    }
    if rows != store_rows {
        return Err("the leaves do not add up to the rows of the store".into());
    }
    // A child names its parent, so that counting is enough: nobody is a child twice.
    let mut roots_and_children = 0u64;
    for number in 0..nodes.len() as u32 {
        roots_and_children += check(&nodes, number).map_err(|problem| format!("node {number} {problem}"))?;
    }
    if roots_and_children != nodes.len() as u64 {
        return Err("some nodes have no parent, or two".into());
    }
    Ok(nodes)
}

/// Checks a node, and counts its children, and itself if it is a root.
fn check(nodes: &[Node], number: u32) -> Result<u64, String> {
    let node = &nodes[number as usize];
    let most = format::most_values(u64::from(node.bytes));
    if node.values > most || u64::from(node.rows) > most || node.rows == 0 {
        return Err("has too few bytes for what it is said to hold".into());
    }
    let cosine_fits = (-1.0..=1.0).contains(&node.least_cosine);
    let lengths_fit = node.least_length >= 0.0 && node.least_length <= node.largest_length;
    if !cosine_fits || !lengths_fit || !node.largest_length.is_finite() {
        return Err("has impossible bounds".into());
    }
    let is_root = u64::from(node.parent == NO_NODE);
    if node.is_leaf() {
        return if node.below == node.rows { Ok(is_root) } else { Err("does not hold the rows that it says".into()) };
    }
    let end =
        node.first_child.checked_add(node.rows).filter(|&end| node.first_child > number && end as usize <= nodes.len());
    let Some(end) = end else { return Err("has children that do not exist".into()) };
    let children = &nodes[node.first_child as usize..end as usize];
    if children.iter().any(|child| child.parent != number) {
        return Err("has children of another node".into());
    }
    if children.iter().map(|child| u64::from(child.below)).sum::<u64>() != u64::from(node.below) {
        return Err("does not hold the rows of its children".into());
    }
    Ok(is_root + children.len() as u64)
}
