//! Writes small ONNX files.

/// A message of protocol buffers that grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }
    pub(crate) fn integer(mut self, field: u64, number: i64) -> Self {
        self.varint(field << 3);
        self.varint(number as u64);
        self
    }
    pub(crate) fn float(mut self, field: u64, number: f32) -> Self {
        self.varint(field << 3 | 5);
        self.0.extend(number.to_le_bytes());
        self
    }
    pub(crate) fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }
    pub(crate) fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }
    pub(crate) fn message(self, field: u64, message: &Message) -> Self {
        self.bytes(field, &message.0)
    }
    pub(crate) fn packed(self, field: u64, numbers: &[i64]) -> Self {
        let mut packed = Message::default();
        for number in numbers {
            packed.varint(*number as u64);
        }
        self.message(field, &packed)
    }
    fn each<T>(self, all: &[T], add: impl Fn(Self, &T) -> Self) -> Self {
        all.iter().fold(self, add)
    }
}

/// An attribute.
#[derive(Clone, Debug)]
pub(crate) enum Attribute<'a> {
    Integer(&'a str, i64),
    Integers(&'a str, &'a [i64]),
    Text(&'a str, &'a str),
    Graph(&'a str, Message),
    Reference(&'a str, &'a str),
}

impl Attribute<'_> {
    fn message(&self) -> Message {
        let new = |name: &str, kind| Message::default().text(1, name).integer(20, kind);
        match self {
            Self::Integer(name, number) => new(name, 2).integer(3, *number),
            Self::Integers(name, numbers) => new(name, 7).packed(8, numbers),
            Self::Text(name, text) => new(name, 3).text(4, text),
            Self::Graph(name, graph) => new(name, 5).message(6, graph),
            Self::Reference(name, of) => new(name, 2).text(21, of),
        }
    }
}

/// A node.
pub(crate) fn node(operator: &str, inputs: &[&str], outputs: &[&str], attributes: &[Attribute<'_>]) -> Message {
    Message::default()
        .each(inputs, |message, name| message.text(1, name))
        .each(outputs, |message, name| message.text(2, name))
        .text(4, operator)
        .each(attributes, |message, attribute| message.message(5, &attribute.message()))
}

/// A tensor of floating-point numbers without its entries.
pub(crate) fn tensor(name: &str, dims: &[i64]) -> Message {
    Message::default().packed(1, dims).integer(2, 1).text(8, name)
}

/// A tensor of integers.
pub(crate) fn integers(name: &str, dims: &[i64], entries: &[i64]) -> Message {
    Message::default().packed(1, dims).integer(2, 7).packed(7, entries).text(8, name)
}

/// A tensor of floating-point numbers.
pub(crate) fn floats(name: &str, dims: &[i64], entries: &[f32]) -> Message {
    let raw: Vec<u8> = entries.iter().flat_map(|entry| entry.to_le_bytes()).collect();
    tensor(name, dims).bytes(9, &raw)
}

/// A value with a shape; negative sizes are named after their number, such as `d2`, zero ones have no name.
pub(crate) fn value(name: &str, dims: &[i64]) -> Message {
    let dim = |size: &i64| match size {
        1.. => Message::default().integer(1, *size),
        0 => Message::default(),
        _ => Message::default().text(2, &format!("d{}", -size)),
    };
    let shape = Message::default().each(dims, |message, size| message.message(1, &dim(size)));
    let tensor = Message::default().integer(1, 1).message(2, &shape);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
}

/// What a graph is made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    pub(crate) nodes: Vec<Message>,
    pub(crate) tensors: Vec<Message>,
    pub(crate) inputs: Vec<Message>,
    pub(crate) outputs: Vec<Message>,
    pub(crate) values: Vec<Message>,
}

impl Parts {
    pub(crate) fn graph(&self) -> Message {
        Message::default()
            .each(&self.nodes, |message, part| message.message(1, part))
            .each(&self.tensors, |message, part| message.message(5, part))
            .each(&self.inputs, |message, part| message.message(11, part))
            .each(&self.outputs, |message, part| message.message(12, part))
            .each(&self.values, |message, part| message.message(13, part))
    }

    /// The file of a model with this version of operators.
    pub(crate) fn model(&self, version: i64) -> Message {
        let opset = Message::default().text(1, "").integer(2, version);
        Message::default().integer(1, 8).message(7, &self.graph()).message(8, &opset)
    }
}
