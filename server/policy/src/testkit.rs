//! Small network files for tests, as an exporter writes them, but without an exporter.

use boardwire_kernel::RngStream;
use prost::Message;

/// A linear network, `logits = view · weights + bias`, with the metadata of its file.
#[derive(Debug, Clone)]
pub struct Linear {
    /// The entries of the metadata.
    pub metadata: Vec<(String, String)>,
    /// The number of bytes of a view.
    pub view_bytes: usize,
    /// One row per byte of the view, with one weight per action.
    pub weights: Vec<f32>,
    /// One value per action.
    pub bias: Vec<f32>,
    /// Whether to subtract the mean over all rows from the logits of each row, so that it depends on the other rows.
    pub subtracts_row_mean: bool,
    /// Whether it has a second output, `value`: the mean of the logits of each row.
    pub has_value: bool,
}

impl Linear {
    /// Creates a network with zero weights, for a table with the spec digest `spec`.
    #[must_use]
    pub fn new(spec: &str, view_bytes: usize, actions: usize) -> Self {
        let metadata = [("spec", spec), ("encoding", "bytes"), ("outputs", "logits")];
        let metadata = metadata.map(|(key, value)| (format!("boardwire.{key}"), value.to_owned()));
        Self {
            metadata: metadata.to_vec(),
            view_bytes,
            weights: vec![0.0; view_bytes * actions],
            bias: vec![0.0; actions],
            subtracts_row_mean: false,
            has_value: false,
        }
    }

    /// Sets irregular weights from -1/16 to 1/16.
    #[must_use]
    pub fn with_random_weights(mut self, seed: u64) -> Self {
        let mut rng = RngStream::new(seed, 0);
        let mut number = || f32::from(u16::try_from(rng.below(2_001)).expect("it is small")) / 1_000.0 - 1.0;
        self.weights.iter_mut().chain(&mut self.bias).for_each(|weight| *weight = number() / 16.0);
        self
    }

    /// Adds the output `value`, and states the points of margin in its unit.
    #[must_use]
    pub fn with_value(mut self, points: &str) -> Self {
        self.has_value = true;
        self.metadata.push(("boardwire.value".to_owned(), points.to_owned()));
        self
    }

    /// Returns the bytes of the file.
    #[must_use]
    pub fn onnx(&self) -> Vec<u8> {
        let (bytes, actions) = (self.view_bytes, self.bias.len());
        let node = |kind: &str, inputs: &[&str], output: &str, attribute: Vec<Attribute>| Node {
            input: inputs.iter().map(|&name| name.to_owned()).collect(),
            output: vec![output.to_owned()],
            kind: kind.to_owned(),
            attribute,
        };
        let to_float =
            Attribute { name: "to".to_owned(), int: i64::from(FLOAT), ints: vec![], kind: ATTRIBUTE_INT };
        let over =
            |axis| Attribute { name: "axes".to_owned(), int: 0, ints: vec![axis], kind: ATTRIBUTE_INTS };
        let flat = Attribute { name: "keepdims".to_owned(), int: 0, ints: vec![], kind: ATTRIBUTE_INT };
        let mut nodes = vec![
            node("Cast", &["view"], "floats", vec![to_float]),
            node("MatMul", &["floats", "weights"], "products", vec![]),
            node(
                "Add",
                &["products", "bias"],
                if self.subtracts_row_mean { "sums" } else { "logits" },
                vec![],
            ),
        ];
        if self.subtracts_row_mean {
            nodes.push(node("ReduceMean", &["sums"], "mean", vec![over(0)]));
            nodes.push(node("Sub", &["sums", "mean"], "logits", vec![]));
        }
        let mut output = vec![value("logits", FLOAT, Some(actions))];
        if self.has_value {
            nodes.push(node("ReduceMean", &["logits"], "value", vec![over(1), flat]));
            output.push(value("value", FLOAT, None));
        }
        let graph = Graph {
            node: nodes,
            name: "linear".to_owned(),
            initializer: vec![
                tensor("weights", &[bytes, actions], &self.weights),
                tensor("bias", &[actions], &self.bias),
            ],
            input: vec![value("view", UINT8, Some(bytes))],
            output,
        };
        let metadata = self.metadata.iter().cloned().map(|(key, value)| Entry { key, value });
        let opset = Opset { version: 17 };
        OnnxModel { ir: 8, graph: Some(graph), opset: vec![opset], metadata: metadata.collect() }
            .encode_to_vec()
    }
}

fn tensor(name: &str, dimensions: &[usize], numbers: &[f32]) -> Tensor {
    Tensor {
        dimensions: dimensions.iter().copied().map(size).collect(),
        kind: FLOAT,
        name: name.to_owned(),
        raw: numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
    }
}

fn size(size: usize) -> i64 {
    i64::try_from(size).expect("it is a size in memory")
}

/// Describes a tensor `[rows, columns]` or `[rows]` with any number of rows.
fn value(name: &str, kind: i32, columns: Option<usize>) -> ValueInfo {
    let mut dimensions = vec![Dimension { size: None, name: Some("rows".to_owned()) }];
    dimensions.extend(columns.map(|columns| Dimension { size: Some(size(columns)), name: None }));
    let tensor = TensorType { kind, shape: Some(Shape { dimensions }) };
    ValueInfo { name: name.to_owned(), kind: Some(Type { tensor: Some(tensor) }) }
}

const FLOAT: i32 = 1;
const UINT8: i32 = 2;
const ATTRIBUTE_INT: i32 = 2;
const ATTRIBUTE_INTS: i32 = 7;

// The messages of `onnx.proto`, as far as this file uses them.

#[derive(Clone, PartialEq, Message)]
struct OnnxModel {
    #[prost(int64, tag = "1")]
    ir: i64,
    #[prost(message, optional, tag = "7")]
    graph: Option<Graph>,
    #[prost(message, repeated, tag = "8")]
    opset: Vec<Opset>,
    #[prost(message, repeated, tag = "14")]
    metadata: Vec<Entry>,
}

#[derive(Clone, PartialEq, Message)]
struct Opset {
    #[prost(int64, tag = "2")]
    version: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Entry {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct Graph {
    #[prost(message, repeated, tag = "1")]
    node: Vec<Node>,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, repeated, tag = "5")]
    initializer: Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    input: Vec<ValueInfo>,
    #[prost(message, repeated, tag = "12")]
    output: Vec<ValueInfo>,
}

#[derive(Clone, PartialEq, Message)]
struct Node {
    #[prost(string, repeated, tag = "1")]
    input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    output: Vec<String>,
    #[prost(string, tag = "4")]
    kind: String,
    #[prost(message, repeated, tag = "5")]
    attribute: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
struct Attribute {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int64, tag = "3")]
    int: i64,
    #[prost(int64, repeated, packed = "false", tag = "8")]
    ints: Vec<i64>,
    #[prost(int32, tag = "20")]
    kind: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Tensor {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    dimensions: Vec<i64>,
    #[prost(int32, tag = "2")]
    kind: i32,
    #[prost(string, tag = "8")]
    name: String,
    #[prost(bytes = "vec", tag = "9")]
    raw: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct ValueInfo {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    kind: Option<Type>,
}

#[derive(Clone, PartialEq, Message)]
struct Type {
    #[prost(message, optional, tag = "1")]
    tensor: Option<TensorType>,
}

#[derive(Clone, PartialEq, Message)]
struct TensorType {
    #[prost(int32, tag = "1")]
    kind: i32,
    #[prost(message, optional, tag = "2")]
    shape: Option<Shape>,
}

#[derive(Clone, PartialEq, Message)]
struct Shape {
    #[prost(message, repeated, tag = "1")]
    dimensions: Vec<Dimension>,
}

#[derive(Clone, PartialEq, Message)]
struct Dimension {
    #[prost(int64, optional, tag = "1")]
    size: Option<i64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
}
