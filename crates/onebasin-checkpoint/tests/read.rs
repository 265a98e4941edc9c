//! Reads what the real libraries wrote.

mod support;

use onebasin_checkpoint::{Checkpoint, DType, Format, Scalar};
use std::collections::BTreeSet;
use support::{FIXTURES, expected, fixture, open, said, sha256};

#[test]
fn every_tensor_has_its_name_shape_type_and_bytes() {
    for file in FIXTURES.iter().chain(&["model-00001-of-00002.safetensors"]) {
        let checkpoint = open(file);
        let expected = expected(file);
        let names: BTreeSet<&str> = checkpoint.tensors().iter().map(|tensor| tensor.name.as_str()).collect();
        assert_eq!(names, expected.keys().map(String::as_str).collect(), "{file}");
        for (index, tensor) in checkpoint.tensors().iter().enumerate() {
            let expected = &expected[&tensor.name];
            assert_eq!(serde_json::json!(tensor.shape), expected["shape"], "{file} {}", tensor.name);
            assert_eq!(tensor.dtype.name(), expected["dtype"], "{file} {}", tensor.name);
            let bytes = checkpoint.read_bytes(index).unwrap();
            assert_eq!(sha256(&bytes), expected["sha256"].as_str().unwrap(), "{file} {}", tensor.name);
            assert_eq!(bytes.len(), tensor.bytes);
            assert_eq!(checkpoint.index_of(&tensor.name), Some(index));
        }
    }
}

#[test]
fn the_format_is_told_by_content() {
    let format = |file: &str| open(file).format();
    assert_eq!(format("array.npy"), Format::Npy);
    assert_eq!(format("stored.npz"), Format::Npz);
    assert_eq!(format("lightning.ckpt"), Format::Torch);
    assert_eq!(format("legacy.pt"), Format::LegacyTorch);
    assert_eq!(format("dtypes.safetensors"), Format::Safetensors);
    assert_eq!(format("model.safetensors.index.json"), Format::ShardedSafetensors);
    let folder = tempfile::tempdir().unwrap();
    let renamed = folder.path().join("model.pt");
    std::fs::copy(fixture("dtypes.safetensors"), &renamed).unwrap();
    assert_eq!(Checkpoint::open(&renamed).unwrap().format(), Format::Safetensors);
}

#[test]
fn tensors_are_in_the_order_of_the_file() {
    let names: Vec<String> = open("state_dict.pt").tensors().iter().map(|tensor| tensor.name.clone()).collect();
    assert_eq!(names[..4], ["first.weight", "first.bias", "norm.weight", "norm.bias"]);
    let names: Vec<String> = open("lightning.ckpt").tensors().iter().map(|tensor| tensor.name.clone()).collect();
    assert_eq!(names[0], "state_dict.model.first.weight");
    assert!(names.contains(&"optimizer_states.0.state.0.exp_avg".to_owned()), "{names:?}");
}

#[test]
fn scalars_of_torch_and_metadata_of_safetensors_are_kept_by_name() {
    let lightning = open("lightning.ckpt");
    let metadata = lightning.metadata();
    assert_eq!(metadata["epoch"], Scalar::Int(3));
    assert_eq!(metadata["best"], Scalar::Float(0.25));
    assert_eq!(metadata["finished"], Scalar::Bool(false));
    assert_eq!(metadata["hparams.name"], Scalar::Text("small".to_owned()));
    assert_eq!(metadata["optimizer_states.0.param_groups.0.lr"], Scalar::Float(0.01));
    assert_eq!(open("dtypes.safetensors").metadata()["format"], Scalar::Text("pt".to_owned()));
    assert!(matches!(open("model.safetensors.index.json").metadata()["total_size"], Scalar::Int(_)));
}

#[test]
fn floats_of_all_widths_are_converted() {
    let checkpoint = open("dtypes.pt");
    for (dtype, start) in [("f64", 0.0), ("f32", 1.0), ("f16", 2.0), ("bf16", 3.0)] {
        let mut values = [0.0; 6];
        checkpoint.read_f32(checkpoint.index_of(dtype).unwrap(), &mut values).unwrap();
        // The formula of make.py.
        let expected = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(|index: f32| ((start + index) * 37.0 % 61.0 - 13.0) / 8.0);
        assert_eq!(values, expected, "{dtype}");
    }
    let integers = checkpoint.index_of("i64").unwrap();
    let error = said(checkpoint.read_f32(integers, &mut [0.0; 6]));
    assert!(error.contains("tensor `i64` is i64, which is not converted to f32"), "{error}");
    let error = said(checkpoint.read_f32(0, &mut [0.0; 5]));
    assert!(error.contains("tensor `f64` has 6 values, but 5 were given"), "{error}");
    assert!(said(checkpoint.read_bytes(99)).contains("there is no tensor 99; there are 17"));
    assert_eq!(checkpoint.tensors()[0].dtype, DType::F64);
}

#[test]
fn tensors_that_share_bytes_are_grouped() {
    let checkpoint = open("views.pt");
    let names = |group: &Vec<usize>| -> Vec<String> {
        group.iter().map(|tensor| checkpoint.tensors()[*tensor].name.clone()).collect()
    };
    let groups: Vec<Vec<String>> = checkpoint.shared().iter().map(names).collect();
    assert_eq!(groups, [vec!["base", "transposed", "row", "column", "block"], vec!["tied.encoder", "tied.decoder"],]);
    assert!(open("lightning.ckpt").shared().is_empty());
    assert!(open("stored.npz").shared().is_empty());
}

#[test]
fn a_whole_module_is_read_without_its_code_and_names_its_classes() {
    let checkpoint = open("module.pt");
    assert!(checkpoint.foreign().contains("torch.nn.modules.linear.Linear"), "{:?}", checkpoint.foreign());
    assert!(open("state_dict.pt").foreign().is_empty(), "{:?}", open("state_dict.pt").foreign());
    assert!(open("dtypes.pt").foreign().is_empty(), "{:?}", open("dtypes.pt").foreign());
    assert!(open("lightning.ckpt").foreign().is_empty(), "{:?}", open("lightning.ckpt").foreign());
}

#[test]
fn a_script_is_refused_with_the_way_out() {
    let error = said(Checkpoint::open(&fixture("script.pt")));
    assert!(error.contains("TorchScript") && error.contains("torch.jit.load(f).state_dict()"), "{error}");
}
