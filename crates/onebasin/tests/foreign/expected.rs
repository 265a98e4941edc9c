//! Fixtures, and a second implementation of what permutations do to their files.

use onebasin::foreign::{Member, Network, Reading};
use onebasin::symmetry::Permutations;
use safetensors::SafeTensors;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A posterior of a library.
#[derive(Clone, Copy)]
pub(crate) struct Fixture {
    /// Name of its file, with its ending.
    pub(crate) file: &'static str,
    pub(crate) network: &'static str,
    pub(crate) convention: &'static str,
}

/// What a layer's rows and columns are permuted by: groups of units, and neighbouring columns of each unit.
struct Layer {
    name: &'static str,
    rows: Option<usize>,
    columns: Option<usize>,
    repeat: usize,
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign")
}

impl Fixture {
    pub(crate) fn path(&self) -> PathBuf {
        folder().join("posteriors").join(self.file)
    }

    pub(crate) fn network_path(&self) -> PathBuf {
        folder().join("networks").join(self.network)
    }

    /// The network, and the posterior without a format that is asked for.
    pub(crate) fn open(&self, path: &Path) -> (Network, Member) {
        let network = Network::open(&self.network_path(), &Reading::default()).unwrap();
        let (network, mut members) = network.open_all(&[path.to_owned()]).unwrap();
        (network, members.remove(0))
    }

    /// Means and standard deviations as the library has computed them, by `mean.NAME` and `std.NAME`.
    pub(crate) fn expected(&self) -> BTreeMap<String, Vec<f32>> {
        let bytes = std::fs::read(self.path().with_extension("safetensors")).unwrap();
        let values =
            |bytes: &[u8]| bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        tensors.tensors().into_iter().map(|(name, view)| (name, values(view.data()))).collect()
    }

    /// Layers in the order of the model's parameters.
    fn layers(&self) -> Vec<Layer> {
        let layer = |name, rows, columns, repeat| Layer { name, rows, columns, repeat };
        match self.network {
            "mlp.pt2" => {
                vec![layer("fc1", Some(0), None, 1), layer("fc2", Some(1), Some(0), 1), layer("fc3", None, Some(1), 1)]
            }
            "conv.pt2" => {
                vec![
                    layer("conv1", Some(0), None, 9),
                    layer("conv2", Some(1), Some(0), 9),
                    layer("fc", None, Some(1), 4),
                ]
            }
            "norm.pt2" => {
                vec![layer("conv", Some(0), None, 9), layer("norm", Some(0), None, 1), layer("fc", None, Some(0), 16)]
            }
            "haiku.toml" => vec![
                layer("linear_1", Some(0), None, 1),
                layer("linear_2", Some(1), Some(0), 1),
                layer("linear_3", None, Some(1), 1),
            ],
            other => panic!("{other} has no layers here"),
        }
    }

    /// Where each entry of a tensor of the file comes from, told from its name and its number of entries.
    pub(crate) fn sources(&self, name: &str, entries: usize, permutations: &Permutations) -> Vec<usize> {
        let stays = || (0..entries).collect();
        let parts: Vec<&str> = name.split(['.', '/']).collect();
        let layers = self.layers();
        if let Some(layer) = layers.iter().find(|layer| parts.contains(&layer.name)) {
            let is_vector = layer.name == "norm" || parts.iter().any(|part| part.contains("bias") || *part == "b");
            if name.contains("prior_dist") {
                return stays();
            }
            let one = self.of_layer(layer, is_vector, permutations);
            if !entries.is_multiple_of(one.len()) {
                return stays();
            }
            // Rows of deviations are permuted one by one.
            return (0..entries).map(|entry| entry / one.len() * one.len() + one[entry % one.len()]).collect();
        }
        // A vector of all parameters, in which only the convolution of `norm` has no bias.
        let mut all = Vec::new();
        for layer in &layers {
            let weight = self.of_layer(layer, layer.name == "norm", permutations);
            let bias = (layer.name != "conv").then(|| self.of_layer(layer, true, permutations));
            for one in [weight].into_iter().chain(bias) {
                let start = all.len();
                all.extend(one.into_iter().map(|source| start + source));
            }
        }
        if all.len() == entries { all } else { stays() }
    }

    fn of_layer(&self, layer: &Layer, is_vector: bool, permutations: &Permutations) -> Vec<usize> {
        let sizes =
            |group: Option<usize>, fixed: usize| group.map_or(fixed, |group| permutations.as_slice()[group].len());
        let (inputs, outputs) = match self.network {
            "conv.pt2" | "norm.pt2" => (1, 3),
            _ => (4, 3),
        };
        let from = |group: Option<usize>, unit: usize| {
            group.map_or(unit, |group| permutations.as_slice()[group].as_slice()[unit] as usize)
        };
        let (rows, columns) = (sizes(layer.rows, outputs), sizes(layer.columns, inputs));
        if is_vector {
            return (0..rows).map(|row| from(layer.rows, row)).collect();
        }
        let mut sources = Vec::new();
        if self.network == "haiku.toml" {
            for column in 0..columns {
                sources.extend((0..rows).map(|row| from(layer.columns, column) * rows + from(layer.rows, row)));
            }
            return sources;
        }
        for row in 0..rows {
            for column in 0..columns {
                let start = (from(layer.rows, row) * columns + from(layer.columns, column)) * layer.repeat;
                sources.extend(start..start + layer.repeat);
            }
        }
        sources
    }
}
