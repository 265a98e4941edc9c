//! Logits, log-likelihood and all gradients agree with PyTorch, on every instruction set.

use onebasin::arch::{Arch, Preset, Role};
use onebasin::model::Batch;
use onebasin::net::Net;
use onebasin::params::Params;
use onebasin::threads::pool;
use onebasin_kernels::Isa;
use safetensors::SafeTensors;
use std::path::PathBuf;

/// The values that `golden/make_golden.py` gives its tensors: a hash of tensor number and element.
fn pseudo_random(tensor: u32, element: u32) -> f64 {
    let mut hash = tensor.wrapping_mul(0x9E37_79B9).wrapping_add(element);
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x85EB_CA6B);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xC2B2_AE35);
    hash ^= hash >> 16;
    f64::from(hash) / 4_294_967_296.0 - 0.5
}

fn params_of(arch: &Arch) -> Params {
    let mut params = Params::zeros(arch.layout());
    for (index, (tensor, role)) in arch.layout().tensors().iter().zip(arch.roles()).enumerate() {
        for (element, value) in params.values_mut()[tensor.range()].iter_mut().enumerate() {
            let random = pseudo_random(index as u32, element as u32);
            *value = match role {
                Role::Weight { fan_in } => random * (24.0 / *fan_in as f64).sqrt(),
                Role::Bias | Role::Beta | Role::Tau => 0.2 * random,
                Role::Gamma => 1.0 + 0.4 * random,
            } as f32;
        }
    }
    params
}

struct Golden {
    name: String,
    arch: Arch,
    bytes: Vec<u8>,
}

impl Golden {
    fn all() -> Vec<Self> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "safetensors"))
            .collect();
        paths.sort();
        paths
            .into_iter()
            .map(|path| {
                let bytes = std::fs::read(&path).unwrap();
                let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
                let preset: Preset = serde_json::from_str(&header.metadata().as_ref().unwrap()["arch"]).unwrap();
                let name = path.file_stem().unwrap().to_string_lossy().into_owned();
                Self { name, arch: Arch::new(preset).unwrap(), bytes }
            })
            .collect()
    }

    fn tensor(&self, name: &str) -> Vec<f32> {
        let tensors = SafeTensors::deserialize(&self.bytes).unwrap();
        let data = tensors.tensor(name).unwrap_or_else(|_| panic!("{}: no {name}", self.name)).data().to_vec();
        data.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
    }

    fn labels(&self) -> Vec<u32> {
        let tensors = SafeTensors::deserialize(&self.bytes).unwrap();
        let view = tensors.tensor("labels").unwrap();
        let size = view.data().len() / view.shape()[0];
        view.data().chunks_exact(size).map(|bytes| u32::from(bytes[0])).collect()
    }
}

/// Largest difference, relative to the largest value.
fn difference(ours: &[f32], theirs: &[f32]) -> f32 {
    assert_eq!(ours.len(), theirs.len());
    let scale = theirs.iter().fold(0.0f32, |scale, value| scale.max(value.abs())).max(1e-3);
    ours.iter().zip(theirs).fold(0.0f32, |worst, (a, b)| worst.max((a - b).abs())) / scale
}

#[test]
fn every_preset_has_golden_values() {
    let names: Vec<String> = Golden::all().into_iter().map(|golden| golden.name).collect();
    let kinds = ["mlp-relu", "mlp-tanh", "mlp-linear", "cnn-max", "cnn-average"].map(str::to_owned).into_iter();
    let resnets = ["none", "layer", "frn"]
        .into_iter()
        .flat_map(|norm| ["projection", "padded"].map(|shortcut| format!("resnet-{norm}-{shortcut}")));
    for name in kinds.chain(resnets) {
        assert!(names.contains(&name), "no golden file {name}");
    }
}

#[test]
fn logits_likelihood_and_gradients_agree_with_pytorch() {
    for golden in Golden::all() {
        let params = params_of(&golden.arch);
        let (images, labels) = (golden.tensor("images"), golden.labels());
        for isa in Isa::available() {
            let mut net = Net::on(isa, &golden.arch, &pool(1).unwrap()).unwrap();
            let case = format!("{} on {isa:?}", golden.name);
            let mut logits = vec![0.0; labels.len() * golden.arch.classes()];
            net.logits(&params, &images, &mut logits).unwrap();
            let off = difference(&logits, &golden.tensor("logits"));
            assert!(off < 2e-6, "{case}: logits differ by {off:e}");

            let batch = Batch { inputs: &images, labels: &labels };
            let mut gradient = Params::zeros(golden.arch.layout());
            let value = net.gradient(&params, batch, &mut gradient).unwrap();
            let theirs = f64::from(golden.tensor("log_likelihood")[0]);
            assert!((value - theirs).abs() < 2e-6 * theirs.abs(), "{case}: {value} against {theirs}");
            assert_eq!(value, net.log_likelihood(&params, batch).unwrap(), "{case}");
            for tensor in golden.arch.layout().tensors() {
                let theirs = golden.tensor(&format!("grad.{}", tensor.name()));
                let off = difference(gradient.view(tensor.name()).unwrap(), &theirs);
                assert!(off < 1e-5, "{case}: gradient of {} differs by {off:e}", tensor.name());
            }
        }
    }
}
