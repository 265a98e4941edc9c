//! The one error type of the library; every variant carries the operands that made it.

use std::fmt;
use std::path::Path;
use std::path::PathBuf;

/// What can be wrong with what a caller hands in.
///
/// Numerical events (a NaN, a divergence) are not errors: they are values of the result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A size that must be at least one is zero.
    #[error("{what} is 0; it must be at least 1")]
    Zero {
        /// Which size.
        what: String,
    },
    /// A number that must be positive and finite is not.
    #[error("{what} is {value}; it must be a positive number")]
    NotPositive {
        /// Which number, by its name in a configuration.
        what: &'static str,
        /// What was given.
        value: String,
    },
    /// A number lies outside of its range.
    #[error("{what} is {value}; it must be {expected}")]
    OutOfRange {
        /// Which number, by its name in a configuration.
        what: &'static str,
        /// What was given.
        value: String,
        /// Its range.
        expected: &'static str,
    },
    /// A number is NaN or infinite.
    #[error("{what} is {value}; it must be finite")]
    NotFinite {
        /// Which number.
        what: String,
        /// What was given.
        value: String,
    },
    /// A standard deviation below zero.
    #[error("a standard deviation of tensor `{tensor}` is {value}; it must not be negative")]
    NotAStd {
        /// Name of the tensor.
        tensor: String,
        /// What was given.
        value: String,
    },
    /// A value that must be a number is NaN or infinite.
    #[error("a value of tensor `{tensor}` is {value}; a posterior that diverged cannot be aligned")]
    Diverged {
        /// Name of the tensor.
        tensor: String,
        /// What was found.
        value: String,
    },
    /// A divergence from a distribution that has no width.
    #[error(
        "a standard deviation of tensor `{tensor}` is {std}, from which every divergence is infinite; use the channel w2 or mean"
    )]
    NoWidth {
        /// Name of the tensor.
        tensor: String,
        /// What was found.
        std: String,
    },
    /// The channel that compares activations, where there are only weights.
    #[error("the channel `activation` needs data; use w2, mean, kl or jeffreys")]
    NeedsData,
    /// A tensor that one permutation acts on twice, or more than two do.
    #[error("tensor `{tensor}` is permuted by {groups}; alignment needs at most two different permutations for each")]
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
    /// A posterior to begin at, for a method that begins at initial values.
    #[error("only `hmc` can begin at a posterior; leave `start` out")]
    NoStart,
    /// A file that cannot be read, written or understood.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
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
    /// A network needs at least two classes to choose between.
    #[error("a classifier needs at least 2 classes, not {classes}")]
    TooFewClasses {
        /// The number given.
        classes: usize,
    },
    /// A residual network of this depth does not exist.
    #[error("a resnet has 6n + 2 layers (8, 14, 20, ..., 1202), not {depth}")]
    Depth {
        /// The depth given.
        depth: usize,
    },
    /// A convolution can go by one or two positions.
    #[error("the stride of `{layer}` is {stride}; it must be 1 or 2")]
    Stride {
        /// Name of the layer.
        layer: String,
        /// The stride given.
        stride: usize,
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
    /// No tensor has this name.
    #[error("there is no tensor `{name}`; there are: {known}")]
    NoTensor {
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
    /// No group of units has this name.
    #[error("there is no group `{name}`; there are: {known}")]
    NoGroup {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: List,
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
    #[error("moments go through dense layers with relu only, not through `{layer}`; restore by weights or by images")]
    NoMoments {
        /// The layer.
        layer: String,
    },
    /// A batch without images.
    #[error("the batch is empty")]
    EmptyBatch,
    /// A label that is not a class.
    #[error("label {label} of image {index} is not one of the {classes} classes (0 to {})", classes - 1)]
    Label {
        /// Position in the batch.
        index: usize,
        /// The label.
        label: u32,
        /// Number of classes.
        classes: usize,
    },
    /// No data set has this name.
    #[error("there is no data set `{name}`; there are: {known}")]
    NoDataset {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: List,
    },
    /// A file of a data set is not there.
    #[error(
        "there is no file {file}; `onebasin data get {dataset}` downloads it, \
         or say where it is by --data DIR or ONEBASIN_DATA"
    )]
    NoFile {
        /// Where it was looked for.
        file: String,
        /// Name of the data set.
        dataset: String,
    },
    /// A file cannot be read.
    #[error("cannot read {file}: {reason}")]
    CannotRead {
        /// The file.
        file: String,
        /// What the system says.
        reason: String,
    },
    /// A file of a data set does not hold what it should.
    #[error("{file}: {field} is {got}, but should be {expected}; `onebasin data get {dataset}` replaces it")]
    BadFile {
        /// The file.
        file: String,
        /// Which part of it.
        field: String,
        /// What it is.
        got: String,
        /// What it should be.
        expected: String,
        /// Name of the data set.
        dataset: String,
    },
    /// A subset of more images than there are.
    #[error("`{subset}` is more than the {images} images of `{dataset}`")]
    SubsetTooLarge {
        /// The subset, as it is written.
        subset: String,
        /// Name of the data set.
        dataset: String,
        /// How many images there are.
        images: usize,
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
    /// A subset without images.
    #[error("`{subset}` leaves no image of `{dataset}`")]
    EmptySubset {
        /// The subset, as it is written.
        subset: String,
        /// Name of the data set.
        dataset: String,
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
    /// Refuses what is not a positive number, and what single precision could not work with.
    pub(crate) fn unless_positive(what: &'static str, value: f64) -> Result<()> {
        if !(value > 0.0 && value.is_finite()) {
            return Err(Self::NotPositive { what, value: value.to_string() });
        }
        if !(1e-30..=1e30).contains(&value) {
            return Err(Self::OutOfRange { what, value: format!("{value:e}"), expected: "between 1e-30 and 1e30" });
        }
        Ok(())
    }

    /// The error of the operating system about a file.
    pub(crate) fn file(path: &Path, error: &std::io::Error) -> Self {
        Self::File { path: path.to_owned(), reason: error.to_string() }
    }
}

/// Names in an error message, cut after the first dozen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List(pub Vec<String>);

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 12;
        write!(f, "{}", self.0[..self.0.len().min(SHOWN)].join(", "))?;
        if self.0.len() > SHOWN {
            write!(f, ", ... ({} more)", self.0.len() - SHOWN)?;
        }
        Ok(())
    }
}

/// Shorthand for a result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;
