//! A file of inputs and targets, or one file of each: which of its arrays is which, and whether it has a test part.

use super::super::Split;
use super::array::{Array, fault};
use super::names::{EXPECTED, Role};
use super::{Arrays, Targets, text};
use crate::error::{Error, Result};
use onebasin_checkpoint::Checkpoint;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

/// Files of inputs and targets, of which only headers are in memory unless they are text.
#[derive(Clone, Debug)]
pub struct Source {
    train: Part,
    test: Option<Part>,
}

/// Inputs and targets of equally many examples.
#[derive(Clone, Debug)]
struct Part {
    inputs: Array,
    targets: Array,
}

impl Source {
    /// Opens a file of inputs and targets, or one of inputs and one of `labels`.
    pub fn open(path: &Path, labels: Option<&Path>) -> Result<Self> {
        if let Some(labels) = labels {
            let (inputs, targets) = (only(path, false)?, only(labels, true)?);
            return Ok(Self { train: Part::new(inputs, targets)?, test: None });
        }
        if is_text(path)? {
            let table = text::read(path, true)?;
            let targets = table.targets.expect("it was asked for");
            return Ok(Self { train: Part::new(table.inputs, targets)?, test: None });
        }
        let file = Tensors::open(path)?;
        let parts = [None, Some(Split::Train), Some(Split::Test)].map(|part| file.part(part));
        let [whole, train, test] = parts;
        let train = match (whole?, train?) {
            (Some(_), Some(_)) => {
                return Err(
                    file.wrong("has arrays of a training part beside arrays of no part; remove one kind of them")
                );
            }
            (Some(part), None) | (None, Some(part)) => part,
            (None, None) => return Err(file.lacks("no inputs with targets")),
        };
        let test: Option<Part> = test?;
        if let Some(test) = &test
            && test.inputs.shape[1..] != train.inputs.shape[1..]
        {
            let (shape, ours) = (train.inputs.axes(), test.inputs.axes());
            let name = &train.inputs.name;
            let fault =
                format!("has the shape {ours}, but `{name}` {shape}; they may differ in the number of examples only");
            return Err(test.inputs.wrong(&fault));
        }
        Ok(Self { train, test })
    }

    /// Whether there is a test part.
    pub fn has_test(&self) -> bool {
        self.test.is_some()
    }

    /// Number of examples of the training part and of the test part; without a test part, all and zero.
    pub fn examples(&self) -> [usize; 2] {
        [self.train.inputs.examples(), self.test.as_ref().map_or(0, |test| test.inputs.examples())]
    }

    /// Name of the inputs, and the shape of one example in the file.
    pub fn inputs(&self) -> (&str, &[usize]) {
        (&self.train.inputs.name, &self.train.inputs.shape[1..])
    }

    /// Number of classes of both parts; reads targets only, and refuses those of a regression.
    pub fn classes(&self) -> Result<usize> {
        let parts = std::iter::once(&self.train).chain(&self.test);
        let classes = parts.map(|Part { targets, .. }| {
            Targets::of(targets)?.into_classes(&targets.path, &targets.name).map(|(_, classes)| classes)
        });
        classes.collect::<Result<Vec<_>>>().map(|all| all.into_iter().max().unwrap_or(0))
    }

    /// Reads the training part, or everything if there is no test part.
    pub fn train(&self) -> Result<Arrays> {
        self.train.read()
    }

    /// Reads the test part, if there is one.
    pub fn test(&self) -> Result<Option<Arrays>> {
        self.test.as_ref().map(Part::read).transpose()
    }

    /// Name of the targets, for messages.
    pub fn targets(&self) -> &str {
        &self.train.targets.name
    }
}

impl Part {
    fn new(inputs: Array, targets: Array) -> Result<Self> {
        let (ours, theirs) = (targets.examples(), inputs.examples());
        if ours != theirs {
            let fault = format!("has {ours} examples, but `{}` has {theirs}; each input needs one target", inputs.name);
            return Err(targets.wrong(&fault));
        }
        Ok(Self { inputs, targets })
    }

    fn read(&self) -> Result<Arrays> {
        Ok(Arrays { targets: Targets::of(&self.targets)?, inputs: self.inputs.inputs()? })
    }
}

/// The inputs of a file that may have targets or not; of one with parts, those of the training part.
pub(super) fn inputs_of(path: &Path) -> Result<Array> {
    if is_text(path)? {
        return Ok(text::read(path, false)?.inputs);
    }
    let file = Tensors::open(path)?;
    if let [_] = file.checkpoint.tensors() {
        return file.array(0);
    }
    for part in [None, Some(Split::Train), Some(Split::Test)] {
        if let Some(index) = file.find(Role { is_target: false, part })? {
            return file.array(index);
        }
    }
    Err(file.lacks("no inputs"))
}

/// The only array of a file, or the one whose name says that it has the inputs or the targets.
fn only(path: &Path, is_target: bool) -> Result<Array> {
    if is_text(path)? {
        return Ok(text::read(path, false)?.inputs);
    }
    let file = Tensors::open(path)?;
    if let [_] = file.checkpoint.tensors() {
        return file.array(0);
    }
    let index = file.find(Role { is_target, part: None })?;
    let index = index.ok_or_else(|| file.lacks(if is_target { "no targets" } else { "no inputs" }))?;
    if !is_target && file.find(Role { is_target: true, part: None })?.is_some() {
        return Err(file.wrong("has targets itself; leave the file of labels out"));
    }
    file.array(index)
}

/// Whether a file is to be read as text: its name and its first bytes are those of no file of tensors.
fn is_text(path: &Path) -> Result<bool> {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    match ending.as_str() {
        "csv" | "tsv" | "txt" | "dat" | "data" => return Ok(true),
        "npz" | "npy" | "pt" | "pth" | "safetensors" => return Ok(false),
        _ => {}
    }
    let mut start = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(6).read_to_end(&mut start));
    read.map_err(|error| Error::file(path, error))?;
    Ok(!start.starts_with(b"PK") && !start.starts_with(b"\x93NUMPY"))
}

/// A file of tensors.
struct Tensors<'a> {
    path: &'a Path,
    checkpoint: Arc<Checkpoint>,
}

impl<'a> Tensors<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        Ok(Self { path, checkpoint: Arc::new(Checkpoint::open(path).map_err(fault)?) })
    }

    fn wrong(&self, fault: &str) -> Error {
        Error::File { path: self.path.to_owned(), reason: format!("it {fault}") }
    }

    /// What the file lacks, and what it has.
    fn lacks(&self, what: &str) -> Error {
        let objects = self.checkpoint.foreign().iter().find(|name| Role::of(name).is_some());
        if let Some(name) = objects {
            return self.wrong(&format!(
                "has an array `{name}` of Python objects, which is not read; save it with a type of numbers"
            ));
        }
        let names: Vec<String> = self.checkpoint.tensors().iter().map(|tensor| format!("`{}`", tensor.name)).collect();
        let names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        self.wrong(&format!("has {what}: {EXPECTED}, but it has {names}"))
    }

    fn array(&self, index: usize) -> Result<Array> {
        Array::tensor(self.path, &self.checkpoint, index)
    }

    /// The tensor with a role; two are an error.
    fn find(&self, role: Role) -> Result<Option<usize>> {
        let tensors = self.checkpoint.tensors();
        let found: Vec<usize> =
            (0..tensors.len()).filter(|index| Role::of(&tensors[*index].name) == Some(role)).collect();
        match found[..] {
            [one, other, ..] => {
                let what = if role.is_target { "targets" } else { "inputs" };
                let (one, other) = (&tensors[one].name, &tensors[other].name);
                Err(self.wrong(&format!(
                    "has both `{one}` and `{other}`, which are names of {what}; remove or rename one of them"
                )))
            }
            _ => Ok(found.first().copied()),
        }
    }

    /// Inputs and targets of a part, if it is there.
    fn part(&self, part: Option<Split>) -> Result<Option<Part>> {
        let inputs = self.find(Role { is_target: false, part })?;
        let targets = self.find(Role { is_target: true, part })?;
        let name = |index: usize| &self.checkpoint.tensors()[index].name;
        match (inputs, targets) {
            (None, None) => Ok(None),
            (Some(inputs), Some(targets)) => Part::new(self.array(inputs)?, self.array(targets)?).map(Some),
            (Some(inputs), None) => Err(self.lacks(&format!("no targets for `{}`", name(inputs)))),
            (None, Some(targets)) => Err(self.lacks(&format!("no inputs for `{}`", name(targets)))),
        }
    }
}
