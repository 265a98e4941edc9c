//! Opens what was written in the real libraries, if `ONEBASIN_PYTHON` names a Python that has torch, NumPy and safetensors.

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use support::{FIXTURES, inverted, open, sha256};

/// Turned around, these bytes are still values: booleans must be zero or one, and text must be text.
fn is_free(dtype: &str) -> bool {
    dtype != "bool" && !dtype.contains(['U', '['])
}

#[test]
#[expect(clippy::print_stderr, reason = "tells who runs the test that nothing was opened")]
fn the_real_libraries_read_what_was_written() {
    let Some(python) = std::env::var_os("ONEBASIN_PYTHON") else {
        eprintln!("ONEBASIN_PYTHON names no Python: files were not opened in torch, NumPy and safetensors");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut expected: Vec<BTreeMap<String, String>> = Vec::new();
    let mut paths = Vec::new();
    for file in FIXTURES {
        let checkpoint = open(file);
        let path = folder.path().join(file);
        let new = |tensor: usize| {
            let bytes = checkpoint.read_bytes(tensor).unwrap();
            if is_free(checkpoint.tensors()[tensor].dtype.name()) { inverted(&bytes) } else { bytes }
        };
        checkpoint.write(&path, &mut |tensor| Ok(Some(new(tensor)))).unwrap();
        let tensors = checkpoint.tensors().iter().enumerate();
        expected.push(tensors.map(|(index, tensor)| (tensor.name.clone(), sha256(&new(index)))).collect());
        paths.push(path);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reopen.py");
    let output = Command::new(python).arg(script).args(&paths).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let found: Vec<BTreeMap<String, String>> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(found.len(), expected.len());
    for ((file, found), expected) in FIXTURES.iter().zip(found).zip(expected) {
        assert_eq!(found, expected, "{file}");
    }
}
