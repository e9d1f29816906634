//! The requirements for a network file.

use std::path::Path;
use std::sync::Arc;

use rten::{
    DataType, Dimension, ModelOptions, NodeId, OpRegistry, RunOptions, ThreadPool, Value, ValueType,
    op_registry,
};

/// The name of the input: views as clients receive them, `uint8 [rows, bytes]`.
const INPUT: &str = "view";
/// The name of the output: `float [rows, actions]`. Greater is better.
const OUTPUT: &str = "logits";
/// The name of the optional output of values: `float [rows]`.
const VALUE: &str = "value";
/// The metadata that states the points of margin in one unit of [`VALUE`].
const VALUE_POINTS: &str = "boardwire.value";

/// A network that reads views of one table and scores its actions.
pub(crate) struct Model {
    graph: rten::Model,
    input: NodeId,
    output: NodeId,
    /// The output of values with the points of margin in one unit, if the file states them.
    value: Option<(NodeId, f32)>,
    /// The spec digest of its table.
    pub(crate) spec: String,
    /// The number of bytes of a view.
    pub(crate) view_bytes: usize,
}

/// Returns the operators that networks may use. None is random, so a network is repeatable. None loops, so it ends.
/// Linking all operators of the library would take minutes longer.
#[rustfmt::skip]
fn operators() -> OpRegistry {
    op_registry!(
        Abs, Add, And, ArgMax, ArgMin, AveragePool, BatchNormalization, Cast, CastLike, Ceil, Clip, Concat, ConstantOfShape, Conv,
        CumSum, Div, Einsum, Elu, Equal, Erf, Exp, Expand, Flatten, Floor, Gather, GatherElements, GatherND, Gelu, Gemm,
        GlobalAveragePool, Greater, GreaterOrEqual, HardSigmoid, HardSwish, Identity, IsNaN, LayerNormalization, LeakyRelu, Less,
        LessOrEqual, Log, LogSoftmax, MatMul, Max, MaxPool, Mean, Min, Mod, Mul, Neg, Not, OneHot, Or, PRelu, Pad, Pow, Range,
        Reciprocal, ReduceL2, ReduceLogSumExp, ReduceMax, ReduceMean, ReduceMin, ReduceProd, ReduceSum, ReduceSumSquare, Relu,
        Reshape, Round, ScatterElements, ScatterND, Shape, Sigmoid, Sign, Size, Slice, Softmax, Softplus, Softsign, Split, Sqrt,
        Squeeze, Sub, Sum, Tanh, Tile, TopK, Transpose, Trilu, Unsqueeze, Where, Xor
    )
}

impl Model {
    /// Reads a network file.
    pub(crate) fn load(file: &Path) -> Result<Self, String> {
        let model = ModelOptions::with_ops(operators())
            .load_file(file)
            .map_err(|error| format!("cannot read the network: {error}"))?;
        let metadata_value = |key: &str, expected: &str| {
            let value = model.metadata().get(key);
            value.map(str::to_owned).ok_or_else(|| format!("its metadata lacks `{key}`: {expected}"))
        };
        let spec = metadata_value("boardwire.spec", "the spec digest of its table, 64 hexadecimal digits")?;
        if spec.len() != 64 || !spec.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(format!(
                "`boardwire.spec` must be a spec digest, 64 hexadecimal digits; got `{spec}`"
            ));
        }
        for (key, expected) in [("boardwire.encoding", "bytes"), ("boardwire.outputs", OUTPUT)] {
            let value = metadata_value(key, &format!("it must be `{expected}`"))?;
            if value != expected {
                return Err(format!("`{key}` must be `{expected}`; got `{value}`"));
            }
        }
        let [input] = model.input_ids() else {
            return Err(format!(
                "it has {} inputs; it must have one, named `{INPUT}`",
                model.input_ids().len()
            ));
        };
        let shape = "must be `uint8 [rows, bytes]` with any number of rows";
        let info = model.node_info(*input).ok_or("its input is not described")?;
        if info.name() != Some(INPUT) {
            return Err(format!(
                "its input must be named `{INPUT}`; got `{}`",
                info.name().unwrap_or_default()
            ));
        }
        if info.dtype() != Some(ValueType::Tensor(DataType::UInt8)) {
            return Err(format!("the input `{INPUT}` {shape}; got {:?}", info.dtype()));
        }
        let view_bytes = match info.shape().as_deref() {
            Some([Dimension::Symbolic(_), Dimension::Fixed(bytes)]) => *bytes,
            other => return Err(format!("the input `{INPUT}` {shape}; got {other:?}")),
        };
        let output = output_named(&model, OUTPUT)?;
        let value = match model.metadata().get(VALUE_POINTS) {
            None => None,
            Some(points) => Some((output_named(&model, VALUE)?, parse_points(points)?)),
        };
        Ok(Self { input: *input, output, value, spec, view_bytes, graph: model })
    }

    /// Returns whether the file states the unit of its values.
    pub(crate) fn has_values(&self) -> bool {
        self.value.is_some()
    }

    /// Evaluates rows of views on the threads of `pool`.
    pub(crate) fn evaluate(&self, views: Vec<u8>, pool: &Arc<ThreadPool>) -> Result<Outputs, String> {
        let rows = views.len() / self.view_bytes;
        let views = Value::from_shape([rows, self.view_bytes], views).map_err(|error| error.to_string())?;
        // Without a pool, all evaluations of the process would share one.
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
        let mut outputs = vec![self.output];
        outputs.extend(self.value.map(|(value, _)| value));
        let run = self.graph.run(vec![(self.input, views.into())], &outputs, Some(options));
        let mut run = run.map_err(|error| format!("it cannot be evaluated: {error}"))?.into_iter();
        let logits = run.next().ok_or("it has no output")?;
        let kind = logits.dtype();
        let (logits, actions) = match logits.into_shape_vec::<f32, 2>() {
            Ok(([given, actions], logits)) if given == rows && actions > 0 => (logits, actions),
            Ok((shape, _)) => {
                return Err(format!("`{OUTPUT}` of {rows} rows must be [{rows}, actions]; got {shape:?}"));
            }
            Err(_) => {
                return Err(format!(
                    "`{OUTPUT}` must be `float [rows, actions]`; got {kind:?} of another shape"
                ));
            }
        };
        let margins = match self.value.zip(run.next()) {
            None => None,
            Some(((_, points), values)) => match values.into_shape_vec::<f32, 1>() {
                Ok(([given], values)) if given == rows => {
                    Some(values.into_iter().map(|value| value * points).collect())
                }
                _ => return Err(format!("`{VALUE}` of {rows} rows must be `float [{rows}]`")),
            },
        };
        Ok(Outputs { logits, actions, margins })
    }
}

/// The outputs for some rows of views.
#[derive(Debug, PartialEq)]
pub(crate) struct Outputs {
    /// The logits, row by row.
    pub(crate) logits: Vec<f32>,
    /// The number of logits in a row.
    pub(crate) actions: usize,
    /// The expected margin of each row in points, if the file states the unit of its values.
    pub(crate) margins: Option<Vec<f32>>,
}

fn output_named(model: &rten::Model, name: &str) -> Result<NodeId, String> {
    let has_name = |id: &&NodeId| model.node_info(**id).and_then(|info| info.name()) == Some(name);
    let output = model.output_ids().iter().find(has_name);
    output.copied().ok_or_else(|| format!("it has no output named `{name}`"))
}

fn parse_points(points: &str) -> Result<f32, String> {
    let number = points.parse().ok().filter(|number: &f32| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| {
        format!("`{VALUE_POINTS}` must be the points of margin in one unit of `{VALUE}`, a positive number; got `{points}`")
    })
}
