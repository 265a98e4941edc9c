//! The one error type of the library; every variant carries the operands that made it.

mod parts;

pub use parts::{IoError, List};

use crate::wording::plain;
use parts::size;
use std::fmt;
use std::path::{Path, PathBuf};

/// What can be wrong with what a caller hands in.
///
/// Numerical events (a NaN, a divergent trajectory) are not errors but values of the result, except where nothing is left to
/// be a result: [`Error::Diverged`] and [`Error::Stuck`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The work was asked to stop, and has.
    #[error("stopped")]
    Stopped,
    /// A training that left the finite numbers, so that it has no result.
    #[error(
        "the training diverged at step {step} of {total}: {fault}{last}; the learning rate is probably too high: lower \
         `infer.optimise.learning_rate`, or try `infer.optimise.warmup` or `infer.optimise.clip_norm` (`infer.clip` of IVON); nothing of this \
         step was saved"
    )]
    Diverged {
        /// The step, counted from one.
        step: u64,
        /// Steps in all.
        total: u64,
        /// What is not finite.
        fault: String,
        /// The last finite value, in words, or nothing.
        last: String,
    },
    /// Markov chains that stand still, so that their samples say nothing.
    #[error(
        "the chains stand still at step {step} of {total}: none has accepted any of {proposals} proposals since burn-in; the \
         leapfrog steps are probably too long: lower `infer.step`, or leave it out and raise `infer.burn_in` so that it is \
         adapted, or `start` the chains at a posterior"
    )]
    Stuck {
        /// The step, counted from one.
        step: u64,
        /// Steps in all.
        total: u64,
        /// Proposals of each chain since burn-in.
        proposals: u64,
    },
    /// Work that needs more memory, or more space on a disk, than there is.
    #[error("{what} needs at least {} of {place}, and there are {}: {remedy}", size(*needed), size(*there))]
    Room {
        /// What was asked for.
        what: String,
        /// Memory, or the disk of a folder.
        place: String,
        /// Bytes that it needs.
        needed: u128,
        /// Bytes that there are.
        there: u64,
        /// What can be done.
        remedy: &'static str,
    },
    /// A setting whose value is not one of those that are allowed.
    ///
    /// The key is that of the table at hand; [`Error::within`] puts the name of the table before it.
    #[error("`{key}` is {value}; it must be {expected}")]
    Setting {
        /// Which setting, by its name in a configuration.
        key: String,
        /// What was given.
        value: String,
        /// What is allowed.
        expected: String,
    },
    /// A size that must be at least one is zero.
    #[error("{what} is 0; it must be at least 1")]
    Zero {
        /// Which size.
        what: String,
    },
    /// A number is not one of those that are allowed.
    #[error("{what} is {value}; it must be {expected}")]
    OutOfRange {
        /// Which number.
        what: String,
        /// What was given.
        value: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// A value of a tensor with which nothing can be computed.
    #[error("a {what} of tensor `{tensor}` is {value}{fault}")]
    TensorValue {
        /// Which kind of value.
        what: &'static str,
        /// Name of the tensor.
        tensor: String,
        /// The value.
        value: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// A criterion that compares activations, where there are only weights.
    #[error("the criterion `{criterion}` needs data; others are: {others}")]
    NeedsData {
        /// Name of the criterion.
        criterion: &'static str,
        /// The criteria that need none.
        others: List,
    },
    /// A tensor of which more than two axes are permuted.
    #[error("tensor `{tensor}` is permuted by {groups}; alignment needs at most two permuted axes of each")]
    NotBilinear {
        /// Name of the tensor.
        tensor: String,
        /// The permutations, one for each axis.
        groups: List,
    },
    /// Three posteriors whose means span no plane.
    #[error(
        "the three means lie on one line, so there is no plane through them; the others are {sides} away from the first"
    )]
    NoPlane {
        /// The distances of the second and the third from the first.
        sides: String,
    },
    /// A posterior to start at, for a method that starts at an initialisation.
    #[error("`{method}` cannot start at a posterior; of the methods these can: {able}; leave `start` out")]
    NoStart {
        /// Name of the method.
        method: &'static str,
        /// Names of the methods that can.
        able: List,
    },
    /// A checkpoint of another library that does not hold the network.
    #[error("{fault}")]
    Checkpoint {
        /// What is wrong with it, and what to do.
        fault: String,
    },
    /// A checkpoint whose permuted copy computes something else.
    #[error(
        "{}: with its units permuted, the outputs of the network change by {change} of the largest, so it is not the same \
         function, and nothing was kept; the symmetry is wrong for this network", path.display()
    )]
    FunctionChanged {
        /// The checkpoint.
        path: PathBuf,
        /// The change.
        change: String,
    },
    /// A regression, where a likelihood of classes is needed.
    #[error("a regression has no likelihood of classes, which is needed here")]
    NoLikelihood,
    /// A posterior that does not say of which network it is.
    #[error("the posterior does not say of which architecture it is, which is needed here")]
    NoArch,
    /// A file or folder that the operating system refuses to read or write.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system says.
        source: IoError,
    },
    /// A file that does not hold what it should.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A folder that cannot be used.
    #[error("{}: {reason}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A stage that writes files, and has no folder for them.
    #[error("the stage `{stage}` writes files, so it needs a folder")]
    NoFolder {
        /// Name of the stage.
        stage: &'static str,
    },
    /// An error, and where it happened.
    #[error("{place}: {source}")]
    At {
        /// The file, or what was being done.
        place: String,
        /// The error.
        source: Box<Error>,
    },
    /// A posterior whose provenance does not say what is needed.
    #[error("its provenance lacks {missing}")]
    Provenance {
        /// What is needed.
        missing: String,
    },
    /// A table of an experiment that needs more posteriors than are trained.
    #[error("[{table}] compares posteriors: it needs [train] and at least {needed} seeds, or `posteriors`")]
    MissingPosteriors {
        /// The table.
        table: String,
        /// How many posteriors it needs.
        needed: usize,
    },
    /// A configuration that cannot be understood.
    #[error("{name}: {reason}")]
    Config {
        /// Name of the configuration, usually that of a file.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A data set that a network was not made for.
    #[error("the network reads {network}, but `{dataset}` has {data}")]
    WrongNetwork {
        /// What the network reads.
        network: String,
        /// Name of the data set.
        dataset: String,
        /// What it has.
        data: String,
    },
    /// A number of classes, of layers or of posteriors that does not do.
    #[error("{need}, not {got}")]
    Count {
        /// What needs which number.
        need: &'static str,
        /// The number given.
        got: usize,
    },
    /// An instruction set that this machine does not have.
    #[error("this machine does not have {isa}")]
    NoIsa {
        /// The instruction set.
        isa: String,
    },
    /// A layer cannot be applied to what comes before it.
    #[error("layer `{layer}` does not fit its input of {height}x{width}x{channels}: {reason}")]
    DoesNotFit {
        /// Name of the layer.
        layer: String,
        /// Height of its input.
        height: usize,
        /// Width of its input.
        width: usize,
        /// Channels of its input.
        channels: usize,
        /// What would be needed.
        reason: String,
    },
    /// A network with more parameters or units than memory can be addressed for.
    #[error("{what} is too large: {size} values")]
    TooLarge {
        /// Which array.
        what: String,
        /// Its size, saturated.
        size: usize,
    },
    /// Every assignment has a forbidden pair.
    #[error("the matrix of costs is infeasible: every assignment has a forbidden pair")]
    Infeasible,
    /// A text that does not describe what it should.
    #[error("`{text}` is not {expected}")]
    Unreadable {
        /// The text given.
        text: String,
        /// What was expected, with an example.
        expected: &'static str,
    },
    /// An array has the wrong number of elements.
    #[error("{what} has {got} values, but {expected} are needed ({why})")]
    Length {
        /// Which array.
        what: &'static str,
        /// Its length.
        got: usize,
        /// The length needed.
        expected: usize,
        /// Where that length comes from.
        why: String,
    },
    /// Two arrays that must share one layout differ; the first difference is named.
    #[error("the parameters do not have the layout that is needed: {difference}")]
    Layout {
        /// The first difference.
        difference: String,
    },
    /// Nothing has this name.
    #[error("there is no {kind} `{name}`; there are: {known}")]
    Unknown {
        /// Kind of thing that was asked for.
        kind: &'static str,
        /// The name asked for.
        name: String,
        /// The names there are.
        known: List,
    },
    /// Two tensors of a layout have the same name.
    #[error("two tensors are named `{name}`")]
    NameTwice {
        /// The name.
        name: String,
    },
    /// Indices that are not a permutation.
    #[error("{value} at place {place} {fault}: not a permutation of {len} units")]
    NotAPermutation {
        /// The first place that is wrong.
        place: usize,
        /// What stands there.
        value: u32,
        /// What is wrong with it.
        fault: &'static str,
        /// How many indices there are.
        len: usize,
    },
    /// Permutations that a network does not have, or that cannot be read.
    #[error("the permutations do not fit the network: {difference}")]
    Permutations {
        /// The first difference.
        difference: String,
    },
    /// A description of symmetries that contradicts the layout or itself.
    #[error("the permutation spec is wrong: {fault}")]
    Spec {
        /// What is wrong, with names and sizes.
        fault: String,
    },
    /// A network whose units cannot be rescaled.
    #[error("the units of a `{activation}` network have no scale to choose: that needs relu(c x) = c relu(x)")]
    NoScale {
        /// The non-linearity.
        activation: String,
    },
    /// A network through which moments are not propagated.
    #[error("moments go through dense layers with relu only, not through `{layer}`; rescale by weights or on data")]
    NoMoments {
        /// The layer.
        layer: String,
    },
    /// A model that does not show its hidden units.
    #[error("this model does not show the activations of its hidden layers, which are needed here")]
    NoActivations,

    /// A batch without examples.
    #[error("the batch is empty")]
    EmptyBatch,
    /// A label that is not a class.
    #[error("label {label} of example {index} is not one of the {classes} classes (0 to {})", classes - 1)]
    Label {
        /// Position in the batch.
        index: usize,
        /// The label.
        label: u32,
        /// Number of classes.
        classes: usize,
    },
    /// A file of a data set is not there.
    #[error("there is no file {}; `onebasin data get {dataset}` downloads it", path.display())]
    NoFile {
        /// Where it was looked for.
        path: PathBuf,
        /// Name of the data set.
        dataset: String,
    },
    /// A subset of more images than there are, or of none.
    #[error("`{subset}` {fault} of `{dataset}`")]
    Subset {
        /// The subset, as it is written.
        subset: String,
        /// What is wrong with it.
        fault: String,
        /// Name of the data set.
        dataset: String,
    },
    /// A subset of a class that the data set does not have.
    #[error("there is no class {class} in `{dataset}`, which `{subset}` asks for; its classes are 0 to {}", classes - 1)]
    NoClass {
        /// The subset, as it is written.
        subset: String,
        /// Name of the data set.
        dataset: String,
        /// The class.
        class: u32,
        /// Number of classes.
        classes: usize,
    },
    /// The threads asked for could not be started.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// How many.
        threads: usize,
        /// Why not.
        reason: String,
    },
}

impl Error {
    /// A setting with a value that is not allowed.
    pub fn setting(key: &str, value: impl fmt::Display, expected: &str) -> Self {
        Self::Setting { key: key.to_owned(), value: value.to_string(), expected: expected.to_owned() }
    }

    /// A number that is not one of those that are allowed.
    pub(crate) fn out_of_range(what: impl Into<String>, value: impl fmt::Display, expected: &'static str) -> Self {
        Self::OutOfRange { what: what.into(), value: value.to_string(), expected }
    }

    /// A name that nothing has, and the names there are.
    pub fn unknown<'a>(kind: &'static str, name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        Self::Unknown { kind, name: name.to_owned(), known: List(known.map(str::to_owned).collect()) }
    }

    /// The same error, of a setting that lies in this table.
    #[must_use]
    pub fn within(self, table: &str) -> Self {
        match self {
            Self::Setting { key, value, expected } => Self::Setting { key: format!("{table}.{key}"), value, expected },
            other => other,
        }
    }

    /// The same error, with where it happened; an order to stop stays what it is.
    #[must_use]
    pub fn at(self, place: impl fmt::Display) -> Self {
        match self {
            Self::Stopped | Self::Config { .. } => self,
            other => Self::At { place: place.to_string(), source: Box::new(other) },
        }
    }

    /// The error without where it happened.
    pub fn cause(&self) -> &Self {
        match self {
            Self::At { source, .. } => source.cause(),
            other => other,
        }
    }

    /// Whether it is what came out of a training, and would come out again.
    pub fn is_outcome(&self) -> bool {
        matches!(self.cause(), Self::Diverged { .. } | Self::Stuck { .. })
    }

    /// A file whose contents cannot be understood.
    pub fn damaged(path: &Path, reason: &dyn fmt::Display) -> Self {
        Self::File { path: path.to_owned(), reason: plain(&reason.to_string()) }
    }

    /// Refuses an array that has not as many values as are expected.
    pub(crate) fn unless_length(what: &'static str, got: usize, expected: usize, why: impl fmt::Display) -> Result<()> {
        if got == expected { Ok(()) } else { Err(Self::Length { what, got, expected, why: why.to_string() }) }
    }
    /// Refuses a size that is zero.
    pub(crate) fn unless_zero(what: impl fmt::Display, size: usize) -> Result<()> {
        if size == 0 { Err(Self::Zero { what: what.to_string() }) } else { Ok(()) }
    }
    /// Refuses a setting whose value is not allowed.
    pub(crate) fn unless(allowed: bool, key: &str, value: impl fmt::Display, expected: &str) -> Result<()> {
        if allowed { Ok(()) } else { Err(Self::setting(key, value, expected)) }
    }

    /// Refuses a setting that is not a positive number, or one that single precision could not work with.
    pub(crate) fn unless_positive(key: &str, value: f64) -> Result<()> {
        Self::unless(value > 0.0 && value.is_finite(), key, value, "a positive number")?;
        Self::unless((1e-30..=1e30).contains(&value), key, format_args!("{value:e}"), "between 1e-30 and 1e30")
    }

    /// Refuses a list with a value that is not allowed.
    pub(crate) fn unless_all<T: fmt::Display>(
        key: &str,
        values: &[T],
        allowed: impl Fn(&T) -> bool,
        expected: &str,
    ) -> Result<()> {
        let wrong = values.iter().find(|value| !allowed(value));
        wrong.map_or(Ok(()), |value| Err(Self::setting(key, format_args!("a list with {value}"), expected)))
    }

    /// Refuses a setting that counts nothing.
    pub(crate) fn unless_counted<N: Copy + Default + PartialEq>(key: &str, value: N) -> Result<()> {
        if value == N::default() { Err(Self::setting(key, 0, "at least 1")) } else { Ok(()) }
    }

    /// The error of the operating system about a file or folder.
    pub fn file(path: &Path, error: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), source: error.into() }
    }
}

/// Shorthand for a result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;
