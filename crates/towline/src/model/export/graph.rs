//! A graph of ONNX, node by node (onnx.proto3 has the numbers of its fields).
use hashbrown::HashSet;

use super::protobuf::Message;

/// The types of tensors that are used, by their numbers in `TensorProto.DataType`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Type {
    Integer = 7,
    Text = 8,
    Double = 11,
}

/// A graph on its way. Values are known by name.
#[derive(Debug, Default)]
pub struct Graph {
    nodes: Vec<Message>,
    constants: Vec<Message>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
    known: HashSet<String>,
}

/// The attributes of a node.
pub struct Attributes(Vec<Message>);

/// Numbers in `AttributeProto.AttributeType`.
const INT: i64 = 2;
const INTS: i64 = 7;
const STRINGS: i64 = 8;

impl Attributes {
    pub fn integer(mut self, name: &str, number: i64) -> Self {
        self.0.push(Message::new().text(1, name).integer(3, number).integer(20, INT));
        self
    }

    pub fn integers(mut self, name: &str, numbers: impl Iterator<Item = i64>) -> Self {
        let list = numbers.fold(Message::new().text(1, name), |message, number| message.integer(8, number));
        self.0.push(list.integer(20, INTS));
        self
    }

    pub fn texts(mut self, name: &str, texts: &[&str]) -> Self {
        let list = texts.iter().fold(Message::new().text(1, name), |message, text| message.text(9, text));
        self.0.push(list.integer(20, STRINGS));
        self
    }
}

impl Graph {
    /// Keeps a name for an input that comes later.
    pub fn keep(&mut self, name: &str) {
        self.known.insert(name.to_string());
    }

    /// An input of a row each, with this many columns; it keeps its name.
    pub fn input(&mut self, name: &str, of: Type, columns: i64) -> String {
        self.known.insert(name.to_string());
        self.inputs.push(value(name, of, &[columns]));
        name.to_string()
    }

    /// An input of a row each, of any number of columns; it keeps its name.
    pub fn matrix(&mut self, name: &str, of: Type) -> String {
        self.known.insert(name.to_string());
        self.inputs.push(typed(name, of, named("rows").message(1, Message::new().text(2, "columns"))));
        name.to_string()
    }

    /// Says that a value is an output, with this many columns, or none.
    pub fn output(&mut self, name: &str, of: Type, columns: &[i64]) {
        self.outputs.push(value(name, of, columns));
    }

    /// A name of that kind that nothing else has.
    fn name(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_string();
        while !self.known.insert(name.clone()) {
            name.push('_');
        }
        name
    }

    fn constant(&mut self, name: &str, dims: &[i64], of: Type, fill: impl FnOnce(Message) -> Message) -> String {
        let name = self.name(name);
        let tensor = dims.iter().fold(Message::new(), |message, &dim| message.integer(1, dim));
        self.constants.push(fill(tensor.integer(2, of as i64).text(8, &name)));
        name
    }

    /// Numbers.
    pub fn doubles(&mut self, name: &str, dims: &[i64], numbers: &[f64]) -> String {
        let raw: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.constant(name, dims, Type::Double, |tensor| tensor.bytes(9, &raw))
    }

    /// Whole numbers.
    pub fn integers(&mut self, name: &str, numbers: &[i64]) -> String {
        let raw: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.constant(name, &[numbers.len() as i64], Type::Integer, |tensor| tensor.bytes(9, &raw))
    }

    /// Texts.
    pub fn texts(&mut self, name: &str, texts: &[String]) -> String {
        self.constant(name, &[texts.len() as i64], Type::Text, |tensor| {
            texts.iter().fold(tensor, |tensor, text| tensor.text(6, text))
        })
    }

    /// The shape that makes one list of anything.
    pub fn flat(&mut self) -> String {
        self.integers("flat", &[-1])
    }

    /// A node of the operators that every program has, and the name of its result.
    pub fn node(&mut self, operator: &str, inputs: &[String], result: &str) -> String {
        self.node_with(operator, inputs, result, |attributes| attributes)
    }

    /// The same with attributes.
    pub fn node_with(
        &mut self,
        operator: &str,
        inputs: &[String],
        result: &str,
        attributes: impl FnOnce(Attributes) -> Attributes,
    ) -> String {
        self.any_node(("", operator), inputs, result, attributes)
    }

    /// One of the operators of machine learning.
    pub fn learning_node(
        &mut self,
        operator: &str,
        inputs: &[String],
        result: &str,
        attributes: impl FnOnce(Attributes) -> Attributes,
    ) -> String {
        self.any_node(("ai.onnx.ml", operator), inputs, result, attributes)
    }

    fn any_node(
        &mut self,
        (domain, operator): (&str, &str),
        inputs: &[String],
        result: &str,
        attributes: impl FnOnce(Attributes) -> Attributes,
    ) -> String {
        let result = self.name(result);
        let node = inputs.iter().fold(Message::new(), |node, input| node.text(1, input));
        let node = node.text(2, &result).text(3, &result).text(4, operator);
        self.nodes.push(node.messages(5, attributes(Attributes(Vec::new())).0).text(7, domain));
        result
    }

    /// The whole graph.
    pub fn finish(self, name: &str) -> Message {
        Message::new()
            .messages(1, self.nodes)
            .text(2, name)
            .messages(5, self.constants)
            .messages(11, self.inputs)
            .messages(12, self.outputs)
    }
}

/// A value with a row for each row of the input.
fn value(name: &str, of: Type, columns: &[i64]) -> Message {
    let shape = columns.iter().fold(named("rows"), |shape, &count| shape.message(1, Message::new().integer(1, count)));
    typed(name, of, shape)
}

/// A shape whose first dimension has a name in place of a size.
fn named(dimension: &str) -> Message {
    Message::new().message(1, Message::new().text(2, dimension))
}

fn typed(name: &str, of: Type, shape: Message) -> Message {
    let tensor = Message::new().integer(1, of as i64).message(2, shape);
    Message::new().text(1, name).message(2, Message::new().message(1, tensor))
}
