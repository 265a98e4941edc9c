//! The data set of a configuration: one that has a name, or a file of somebody's own.

use crate::data::arrays::Layout;
use crate::data::{self, Augment, Dataset, Examples, Own, Scaling, Split, Standardisation, Subset};
use crate::error::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The data set of a training: either `name` or `path` is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// Name of the data set; `onebasin data list` prints all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-else" = "none; `path` is given instead"))]
    pub name: Option<String>,
    /// File of your own: .npz with arrays `x` and `y`, or `x_train`, `y_train`, `x_test` and `y_test`; .npy, with `labels`; or .csv,
    /// whose last column, or the one named `label`, `class`, `target` or `y`, is the class. Bytes are pixels, other arrays are
    /// numbers; classes are counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-else" = "none; `name` is given instead"))]
    pub path: Option<PathBuf>,
    /// File of the classes, if that of `path` has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<PathBuf>,
    /// Order of the axes of images with channels in the file of `path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-else" = "`\"chw\"` if the first axis of an image is 1, 3 or 4 and the last is not, else `\"hwc\"`"))]
    pub layout: Option<Layout>,
    /// Fraction of the examples in the file of `path` that are held out as test examples, if it has no test arrays; the seed does
    /// not change which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-else" = "0.2"))]
    pub test_fraction: Option<f64>,
    /// SHA-256 of the file of `path`, with the bytes of `labels` behind its own; files with another one are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-else" = "that of the file when the configuration is read"))]
    pub sha256: Option<String>,
    /// Subsets of the training examples, each of what the one before left: `first:5000`, `classes:0,1,7`, `half:a` or `half:b`.
    #[serde(default)]
    pub subsets: Vec<Subset>,
    /// How pixels are scaled.
    #[serde(default)]
    pub scaling: Scaling,
    /// Augmentation of the batches that are trained on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub augment: Option<Augment>,
}

/// Where a data set comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum DataSource<'a> {
    /// The data set of this name.
    Named(&'a str),
    /// A file of somebody's own.
    Own(Own),
}

impl DataConfig {
    /// Refuses keys that contradict each other.
    pub fn check(&self) -> Result<()> {
        self.source().map(|_| ())
    }

    /// Where the data set comes from; errors name the key inside the table.
    pub fn source(&self) -> Result<DataSource<'_>> {
        let path = match (&self.name, &self.path) {
            (Some(name), Some(path)) => {
                let expected = format!("left out where `path` is given ({})", path.display());
                return Err(Error::setting("name", name, &expected));
            }
            (None, None) => {
                return Err(Error::setting("name", "missing", "given, or `path` for a file of your own"));
            }
            (Some(name), None) => {
                self.check_named()?;
                return Ok(DataSource::Named(name));
            }
            (None, Some(path)) => path.clone(),
        };
        let allowed = |fraction: f64| fraction > 0.0 && fraction < 1.0;
        if let Some(fraction) = self.test_fraction.filter(|fraction| !allowed(*fraction)) {
            return Err(Error::setting("test_fraction", fraction, "above 0 and below 1"));
        }
        let (labels, layout, test_fraction) = (self.labels.clone(), self.layout, self.test_fraction);
        Ok(DataSource::Own(Own { path, labels, layout, test_fraction }))
    }

    /// Refuses keys that say how a file of somebody's own is read.
    fn check_named(&self) -> Result<()> {
        for (key, given) in [
            ("labels", self.labels.is_some()),
            ("layout", self.layout.is_some()),
            ("test_fraction", self.test_fraction.is_some()),
            ("sha256", self.sha256.is_some()),
        ] {
            Error::unless(!given, key, "given", "left out where `name` is given: it is about a file of `path`")?;
        }
        Ok(())
    }

    /// The same treatment of the data set of another name, without subsets.
    #[must_use]
    pub fn renamed(&self, name: &str) -> Self {
        let (scaling, augment, name) = (self.scaling, self.augment, Some(name.to_owned()));
        let (path, labels, layout, test_fraction, sha256) = (None, None, None, None, None);
        Self { name, path, labels, layout, test_fraction, sha256, subsets: Vec::new(), scaling, augment }
    }

    /// The data set and its subsets in words, such as `mnist first:5000`.
    pub(crate) fn describe(&self) -> String {
        let path = || self.path.as_ref().map(|path| path.display().to_string());
        let name = self.name.clone().or_else(path).unwrap_or_default();
        let subsets = self.subsets.iter().map(ToString::to_string);
        std::iter::once(name).chain(subsets).collect::<Vec<_>>().join(" ")
    }

    /// What is assumed of a file of somebody's own, a sentence each.
    pub(crate) fn assumptions(&self) -> Result<Vec<String>> {
        match self.source().map_err(within)? {
            DataSource::Named(_) => Ok(Vec::new()),
            DataSource::Own(own) => {
                let said = own.summary().map_err(within)?.assumed;
                Ok(said.into_iter().map(|sentence| format!("{}: {sentence}", own.name())).collect())
            }
        }
    }

    /// Loads the training images.
    pub fn training(&self, folder: &Path) -> Result<Examples> {
        let whole = self.load(Split::Train, folder)?;
        let part = self.subsets.iter().try_fold(whole, |rest, subset| subset.apply(&rest))?;
        let standardisation = Standardisation::of(self.scaling, &part);
        let examples = Examples::new(part, standardisation)?;
        match self.augment {
            Some(augment) => examples.augmented(augment).map_err(within),
            None => Ok(examples),
        }
    }

    /// Loads all images of a part, treated like the training images; of the same classes, if those are a subset.
    pub fn whole(&self, split: Split, folder: &Path, standardisation: &Standardisation) -> Result<Examples> {
        let whole = self.load(split, folder)?;
        let classes = self.subsets.iter().filter(|subset| matches!(subset, Subset::Classes(_)));
        let part = classes.cloned().try_fold(whole, |rest, subset| subset.apply(&rest))?;
        Examples::new(part, standardisation.clone())
    }

    /// Loads a part of the data set; a file that is not the one that was trained on is refused.
    fn load(&self, split: Split, folder: &Path) -> Result<Dataset> {
        match self.source().map_err(within)? {
            DataSource::Named(name) => data::load(name, split, folder),
            DataSource::Own(own) => {
                let now = own.sha256().map_err(|error| missing(&own, error))?;
                if let Some(then) = self.sha256.as_ref().filter(|then| **then != now) {
                    let reason = format!(
                        "it was changed since the configuration was read: its SHA-256 is {now}, but `data.sha256` is {then}; \
                         put the earlier file back, or train again"
                    );
                    return Err(Error::File { path: own.path, reason });
                }
                own.load(split).map_err(within)
            }
        }
    }
}

/// The error of a setting with the name of the table.
fn within(error: Error) -> Error {
    error.within("data")
}

/// The error of a file that cannot be read, with the key that names it.
pub(super) fn missing(own: &Own, error: Error) -> Error {
    let relative = if own.path.is_relative() { ", relative to the current folder" } else { "" };
    if matches!(error, Error::Io { .. }) { error.at(format_args!("`data.path`{relative}")) } else { error }
}
