//! The JSON of an exported program, as `torch/_export/serde/schema.py` defines it.
//!
//! Fields that nobody here reads are left out. A union is an object of one member, which is how serde writes an enum.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny};

/// The newest version of the schema that is known.
pub(super) const MAJOR_VERSION: u64 = 8;

#[derive(Debug, Deserialize)]
pub(super) struct Program {
    pub(super) graph_module: GraphModule,
    pub(super) schema_version: Version,
}

#[derive(Debug, Deserialize)]
pub(super) struct Version {
    pub(super) major: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct GraphModule {
    pub(super) graph: Graph,
    pub(super) signature: Signature,
}

#[derive(Debug, Deserialize)]
pub(super) struct Graph {
    pub(super) inputs: Vec<Argument>,
    pub(super) outputs: Vec<Argument>,
    pub(super) nodes: Vec<Node>,
    pub(super) tensor_values: BTreeMap<String, TensorMeta>,
    #[serde(default)]
    pub(super) sym_int_values: BTreeMap<String, SymInt>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Node {
    pub(super) target: String,
    pub(super) inputs: Vec<NamedArgument>,
    pub(super) outputs: Vec<Argument>,
    #[serde(default)]
    pub(super) metadata: Metadata,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Metadata {
    /// `key,path,class` of the modules around the node, outermost first, with `;` between them.
    pub(super) nn_module_stack: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NamedArgument {
    pub(super) name: String,
    pub(super) arg: Argument,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::enum_variant_names)] // the names are those of the file
pub(super) enum Argument {
    AsNone(IgnoredAny),
    AsTensor(Named),
    AsTensors(Vec<Named>),
    AsInt(i64),
    AsInts(Vec<i64>),
    AsFloat(Number),
    AsFloats(Vec<Number>),
    AsString(String),
    AsStrings(IgnoredAny),
    AsSymInt(SymIntArgument),
    AsSymInts(Vec<SymIntArgument>),
    AsScalarType(IgnoredAny),
    AsMemoryFormat(IgnoredAny),
    AsLayout(IgnoredAny),
    AsDevice(IgnoredAny),
    AsBool(bool),
    AsBools(IgnoredAny),
    AsSymBool(IgnoredAny),
    AsSymBools(IgnoredAny),
    AsGraph(Box<GraphArgument>),
    AsOptionalTensors(Vec<OptionalTensor>),
    AsCustomObj(IgnoredAny),
    AsOperator(IgnoredAny),
    AsSymFloat(IgnoredAny),
    AsSymFloats(IgnoredAny),
    AsOptionalTensor(OptionalTensor),
    AsComplex(IgnoredAny),
    AsNestedTensors(Vec<Vec<Named>>),
    AsIntLists(IgnoredAny),
    AsFloatLists(IgnoredAny),
    AsStringToArgument(BTreeMap<String, Argument>),
}

#[derive(Debug, Deserialize)]
pub(super) struct Named {
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::enum_variant_names)] // the names are those of the file
pub(super) enum OptionalTensor {
    AsTensor(Named),
    AsNone(IgnoredAny),
}

#[derive(Debug, Deserialize)]
pub(super) struct GraphArgument {
    pub(super) name: String,
    pub(super) graph: Graph,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::enum_variant_names)] // the names are those of the file
pub(super) enum SymIntArgument {
    AsName(String),
    AsInt(i64),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::enum_variant_names)] // the names are those of the file
pub(super) enum SymInt {
    AsExpr(SymExpr),
    AsInt(i64),
}

impl SymInt {
    /// The size, or that of the example that the network was exported with.
    pub(super) fn hint(&self) -> Option<i64> {
        match self {
            Self::AsInt(value) => Some(*value),
            Self::AsExpr(expression) => expression.hint.as_ref().and_then(|hint| hint.as_int),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct SymExpr {
    pub(super) expr_str: String,
    #[serde(default)]
    pub(super) hint: Option<Hint>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Hint {
    #[serde(default)]
    pub(super) as_int: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TensorMeta {
    pub(super) dtype: i64,
    pub(super) sizes: Vec<SymInt>,
    pub(super) strides: Vec<SymInt>,
    pub(super) storage_offset: SymInt,
    pub(super) device: Option<Device>,
}

/// Where a tensor was when the program was recorded.
#[derive(Debug, Deserialize)]
pub(super) struct Device {
    #[serde(rename = "type")]
    pub(super) kind: String,
}

/// A number of the file, where infinities and NaN are strings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number(pub(super) f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(f64),
            Text(String),
        }
        match Either::deserialize(deserializer)? {
            Either::Number(number) => Ok(Self(number)),
            Either::Text(text) => {
                text.parse().map(Self).map_err(|_| D::Error::custom(format!("`{text}` is no number")))
            }
        }
    }
}

/// The same JSON with infinities and NaN, which `PyTorch` 2.6 writes as Python does, in quotes; none if it has none.
pub(super) fn quoted(json: &[u8]) -> Option<Vec<u8>> {
    let mut result = Vec::with_capacity(json.len() + 1024);
    let (mut at, mut inside, mut found) = (0, false, false);
    while at < json.len() {
        let rest = &json[at..];
        let word = [&b"-Infinity"[..], b"Infinity", b"NaN"].into_iter().find(|word| !inside && rest.starts_with(word));
        let len = match (word, rest[0]) {
            (Some(word), _) => {
                result.extend([b"\"", word, b"\""].concat());
                found = true;
                at += word.len();
                continue;
            }
            (None, b'\\') if inside => 2.min(rest.len()),
            (None, b'"') => {
                inside = !inside;
                1
            }
            _ => 1,
        };
        result.extend(&rest[..len]);
        at += len;
    }
    found.then_some(result)
}

#[derive(Debug, Deserialize)]
pub(super) struct Signature {
    pub(super) input_specs: Vec<InputSpec>,
    #[serde(default)]
    pub(super) output_specs: Vec<OutputSpec>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum InputSpec {
    UserInput(IgnoredAny),
    Parameter(ParameterSpec),
    Buffer(BufferSpec),
    TensorConstant(ConstantSpec),
    CustomObj(IgnoredAny),
    Token(IgnoredAny),
    ConstantInput(IgnoredAny),
}

#[derive(Debug, Deserialize)]
pub(super) struct ParameterSpec {
    pub(super) arg: Named,
    pub(super) parameter_name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct BufferSpec {
    pub(super) arg: Named,
    pub(super) buffer_name: String,
    #[serde(default = "yes")]
    pub(super) persistent: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
pub(super) struct ConstantSpec {
    pub(super) arg: Named,
    pub(super) tensor_constant_name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OutputSpec {
    UserOutput(IgnoredAny),
    LossOutput(IgnoredAny),
    BufferMutation(BufferMutation),
    ParameterMutation(ParameterMutation),
    GradientToParameter(IgnoredAny),
    GradientToUserInput(IgnoredAny),
    UserInputMutation(IgnoredAny),
    Token(IgnoredAny),
}

#[derive(Debug, Deserialize)]
pub(super) struct BufferMutation {
    pub(super) arg: Named,
    pub(super) buffer_name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ParameterMutation {
    pub(super) arg: Named,
    pub(super) parameter_name: String,
}

/// Where the archive keeps the bytes of its tensors.
#[derive(Debug, Deserialize)]
pub(super) struct Payloads {
    pub(super) config: BTreeMap<String, Payload>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Payload {
    pub(super) path_name: String,
    #[serde(default)]
    pub(super) use_pickle: bool,
    #[serde(default)]
    pub(super) tensor_meta: Option<TensorMeta>,
}

/// Whether numbers of this type are floating-point ones: 16, 32 and 64 bits, bfloat16, and those of 8 bits.
pub(super) fn is_float(dtype: i64) -> bool {
    matches!(dtype, 6..=8 | 13 | 29..=33)
}

/// The type of truth values.
pub(super) const BOOL: i64 = 12;
