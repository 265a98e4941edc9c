//! A network in a file: its graph, its symmetry, and which tensors of a checkpoint it reads.

use super::binding::Wanted;
use super::contents::{Contents, Match};
use super::fault;
use super::listing::Tensors;
use super::member::Member;
use super::source::TensorSource;
use crate::error::{Error, Result};
use onebasin_checkpoint::Checkpoint;
use onebasin_graph::symmetry::{Symmetry, TensorAxes, Tie};
use onebasin_graph::{Graph, onnx, pt2};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// How a network and its checkpoints are read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Sizes of axes that the network gives a name in place of a size.
    pub dims: BTreeMap<String, usize>,
    /// How checkpoints store a posterior; found out if none is named.
    pub format: Option<String>,
    /// Beginnings of the names of tensors that are no part of the network and stay as they are.
    pub keep: Vec<String>,
}

/// What kind of file a network is in.
#[derive(Clone, Debug)]
enum Source {
    Onnx(Box<onnx::Network>),
    Exported(Box<pt2::Network>),
    Symmetry,
}

/// A tensor of the graph and the tensor of the symmetry that is its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Name of the tensor in the graph.
    pub name: String,
    /// Index of the tensor in the symmetry.
    pub tensor: usize,
    /// Whether its axes are in reversed order there.
    pub transposed: bool,
}

/// A network whose symmetry is known.
#[derive(Clone, Debug)]
pub struct Network {
    path: PathBuf,
    reading: Reading,
    source: Source,
    symmetry: Symmetry,
    feeds: Vec<Feed>,
}

impl Network {
    /// Reads a network: an ONNX file, an exported program of `PyTorch` (`.pt2`), or a file of its symmetry (`.toml`).
    pub fn open(path: &Path, reading: &Reading) -> Result<Self> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let (source, symmetry) = match ending.as_deref() {
            Some("onnx") => {
                let options = onnx::Options { dims: reading.dims.clone(), ..onnx::Options::default() };
                let read = onnx::Network::open(path, &options).map_err(fault)?;
                let symmetry = Symmetry::of(&read.graph);
                (Source::Onnx(Box::new(read)), symmetry)
            }
            Some("pt2") => {
                let read = pt2::read(path).map_err(fault)?;
                let symmetry = Symmetry::of(&read.graph);
                (Source::Exported(Box::new(read)), symmetry)
            }
            Some("toml") => {
                let text = fs::read_to_string(path).map_err(|error| Error::file(path, error))?;
                (Source::Symmetry, Symmetry::from_toml(&text, &path.display().to_string()).map_err(fault)?)
            }
            _ => {
                let reason =
                    "it should be an ONNX file (.onnx), an exported program of PyTorch (.pt2) or a symmetry (.toml)";
                return Err(Error::File { path: path.to_owned(), reason: reason.to_owned() });
            }
        };
        let feeds = symmetry.tensors.iter().enumerate().map(own_feed).collect();
        Ok(Self { path: path.to_owned(), reading: reading.clone(), source, symmetry, feeds })
    }

    /// A network of which nothing but its symmetry is known; errors call it `name`.
    pub fn of_symmetry(name: &str, symmetry: Symmetry, reading: &Reading) -> Self {
        let feeds = symmetry.tensors.iter().enumerate().map(own_feed).collect();
        Self { path: name.into(), reading: reading.clone(), source: Source::Symmetry, symmetry, feeds }
    }

    /// The same network, whose checkpoints store a posterior in this format, with tensors that are no part of it.
    #[must_use]
    pub fn with_reading(mut self, format: Option<String>, keep: Vec<String>) -> Self {
        (self.reading.format, self.reading.keep) = (format, keep);
        self
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which of its units can be permuted.
    pub fn symmetry(&self) -> &Symmetry {
        &self.symmetry
    }

    /// Its tensors in the graph, and where their values come from.
    pub fn feeds(&self) -> &[Feed] {
        &self.feeds
    }

    /// Indices in the symmetry of the tensors that hold running statistics of batch normalisations.
    pub fn statistics(&self) -> Vec<usize> {
        let tensors = self.symmetry.tensors.iter().enumerate();
        tensors.filter(|(_, tensor)| tensor.statistics).map(|(index, _)| index).collect()
    }

    /// The ONNX file that it was read from, if it was one.
    pub fn onnx(&self) -> Option<&onnx::Network> {
        if let Source::Onnx(network) = &self.source { Some(network) } else { None }
    }

    fn graph(&self) -> Option<&Graph> {
        match &self.source {
            Source::Onnx(network) => Some(&network.graph),
            Source::Exported(network) => Some(&network.graph),
            Source::Symmetry => None,
        }
    }

    /// Opens files that are checkpoints of the network, and [binds](Self::bind) them.
    pub fn open_all(self, paths: &[PathBuf]) -> Result<(Self, Vec<Member>)> {
        self.bind(paths.iter().map(|path| Checkpoint::open(path).map_err(fault)).collect::<Result<_>>()?)
    }

    /// Finds the network in its checkpoints. Tensors of the graph whose names an exporter made up are found in the checkpoints by their
    /// contents; tensors that are one in a checkpoint are one in the network from then on.
    pub fn bind<S: TensorSource>(mut self, checkpoints: Vec<S>) -> Result<(Self, Vec<Member<S>>)> {
        self.compare_contents(&checkpoints)?;
        let members = self.with_tensors(|tensors, wanted| -> Result<Vec<Member<S>>> {
            checkpoints.into_iter().map(|checkpoint| Member::new(checkpoint, tensors, wanted)).collect()
        })?;
        let ties: Vec<Tie> = members.iter().flat_map(|member| member.ties(&self.symmetry)).collect();
        if ties.is_empty() || self.graph().is_none() {
            return Ok((self, members));
        }
        self.infer_again(ties);
        let members = self.with_tensors(|tensors, wanted| -> Result<_> {
            members.into_iter().map(|member| member.found_again(tensors, wanted)).collect()
        })?;
        Ok((self, members))
    }

    /// Calls `work` with what a checkpoint should have.
    fn with_tensors<T>(&self, work: impl FnOnce(Tensors<'_>, Wanted<'_>) -> T) -> T {
        // An exported program lists tensors as the model does, and a person that writes a symmetry does too.
        let in_order = self.onnx().is_none();
        let tensors = Tensors { symmetry: &self.symmetry, aliases: &self.aliases(), in_order };
        let Reading { format, keep, .. } = &self.reading;
        work(tensors, Wanted { format: format.as_deref(), keep })
    }

    /// Other names of tensors of the graph, each with the name of the tensor.
    fn aliases(&self) -> BTreeMap<String, String> {
        match &self.source {
            Source::Onnx(network) => network.copies.iter().map(|copy| (copy.name.clone(), copy.of.clone())).collect(),
            Source::Exported(network) => network.aliases.clone(),
            Source::Symmetry => BTreeMap::new(),
        }
    }

    /// Looks for the tensors that an exporter has renamed or merged in the checkpoints, and reads the file again with what was found.
    fn compare_contents<S: TensorSource>(&mut self, checkpoints: &[S]) -> Result<()> {
        let Source::Onnx(network) = &self.source else { return Ok(()) };
        let lost: Vec<&str> = network.made_up_names().collect();
        if lost.is_empty() && network.copies.is_empty() {
            return Ok(());
        }
        let (mut found, mut separate) = (BTreeMap::new(), BTreeSet::new());
        for checkpoint in checkpoints {
            let contents = Contents::new(network, checkpoint);
            separate.extend(contents.separate()?);
            if found.len() < lost.len() {
                found.extend(contents.matches(&lost)?);
            }
        }
        let constants = lost.iter().filter(|name| !found.contains_key(**name)).map(|name| (*name).to_owned()).collect();
        let options = onnx::Options { dims: self.reading.dims.clone(), separate, constants };
        let network = onnx::Network::open(&self.path, &options).map_err(fault)?;
        self.rename(&network.graph, &found);
        self.source = Source::Onnx(Box::new(network));
        Ok(())
    }

    /// Finds the symmetry of a graph whose tensors have other names in the checkpoints.
    fn rename(&mut self, graph: &Graph, found: &BTreeMap<String, Match>) {
        let renamed = |name: &str| match found.get(name) {
            Some(Match { name, transposed }) => (name.clone(), *transposed),
            None => (name.to_owned(), false),
        };
        let mut first: BTreeMap<String, (String, bool)> = BTreeMap::new();
        let mut ties = Vec::new();
        for tensor in graph.tensors() {
            let (name, transposed) = renamed(&tensor.name);
            if let Some((other, flipped)) = first.get(&name) {
                let tie = Tie { first: other.clone(), second: tensor.name.clone(), transposed: transposed != *flipped };
                ties.push(tie);
            } else {
                first.insert(name, (tensor.name.clone(), transposed));
            }
        }
        let mut symmetry = Symmetry::of_tied(graph, &ties);
        let mut feeds = Vec::new();
        let mut tensors: Vec<TensorAxes> = Vec::new();
        for mut tensor in std::mem::take(&mut symmetry.tensors) {
            let (name, transposed) = renamed(&tensor.name);
            let known = tensors.iter().position(|own| own.name == name);
            feeds.push(Feed { name: tensor.name.clone(), tensor: known.unwrap_or(tensors.len()), transposed });
            if known.is_none() {
                if transposed {
                    tensor.shape.reverse();
                    tensor.axes.reverse();
                }
                tensors.push(TensorAxes { name, ..tensor });
            }
        }
        symmetry.tensors = tensors;
        (self.symmetry, self.feeds) = (symmetry, feeds);
    }

    /// Finds the symmetry again with more tensors that are one.
    fn infer_again(&mut self, ties: Vec<Tie>) {
        let original = |name: &str| {
            let index = self.symmetry.tensors.iter().position(|tensor| tensor.name == name);
            self.feeds.iter().find(|feed| Some(feed.tensor) == index).map(|feed| (feed.name.clone(), feed.transposed))
        };
        let ties: Vec<Tie> = ties
            .into_iter()
            .filter_map(|Tie { first, second, transposed }| {
                let ((first, a), (second, b)) = (original(&first)?, original(&second)?);
                Some(Tie { first, second, transposed: transposed != (a != b) })
            })
            .chain(self.own_ties())
            .collect();
        let Some(graph) = self.graph() else { return };
        let again = Symmetry::of_tied(graph, &ties);
        let tensors = self.symmetry.tensors.iter().enumerate().map(|(index, tensor)| {
            let feed = self.feeds.iter().find(|feed| feed.tensor == index).expect("each tensor is fed");
            let own = again.tensors.iter().find(|own| own.name == feed.name).expect("the graph is the same").clone();
            let mut own = TensorAxes { name: tensor.name.clone(), ..own };
            if feed.transposed {
                own.shape.reverse();
                own.axes.reverse();
            }
            own
        });
        let tensors = tensors.collect();
        self.symmetry = Symmetry { tensors, ..again };
    }

    /// Tensors of the graph that are one tensor of the symmetry.
    fn own_ties(&self) -> Vec<Tie> {
        let mut ties = Vec::new();
        for (index, feed) in self.feeds.iter().enumerate() {
            if let Some(first) = self.feeds[..index].iter().find(|other| other.tensor == feed.tensor) {
                let transposed = first.transposed != feed.transposed;
                ties.push(Tie { first: first.name.clone(), second: feed.name.clone(), transposed });
            }
        }
        ties
    }
}

/// Where a tensor of the symmetry has the name that it has in the graph.
fn own_feed((tensor, own): (usize, &TensorAxes)) -> Feed {
    Feed { name: own.name.clone(), tensor, transposed: false }
}
