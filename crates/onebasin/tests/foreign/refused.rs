//! Posteriors that are not supported are refused with what to do.

use crate::expected::{Fixture, folder};
use onebasin::foreign::{Member, Network, Reading};
use onebasin::symmetry::Spec;
use std::path::PathBuf;

fn bind(network: &str, path: PathBuf, format: Option<&str>) -> onebasin::error::Result<(Network, Vec<Member>)> {
    let reading = Reading { format: format.map(str::to_owned), ..Reading::default() };
    Network::open(&folder().join("networks").join(network), &reading).unwrap().open_all(&[path])
}

#[test]
fn files_that_are_not_supported_say_what_to_do() {
    for (file, parts) in [
        ("ensemble.pt", ["2 networks", "`core_models.0.`, `core_models.1.`", "file of its own"]),
        ("laplace-kron.pt", ["Kronecker-factored", "no standard deviation", "hessian_structure=\"diag\""]),
        ("laplace-last-layer.pt", ["`H` has 18 values", "the network has 83 parameters", "some layers only"]),
    ] {
        let error = bind("mlp.pt2", folder().join("refused").join(file), None).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{file}: {error}");
    }
}

#[test]
fn a_format_may_name_another_transform() {
    let posterior = |file: &str| folder().join("posteriors").join(file);
    // Read as if it were the standard deviation itself, a raw scale is negative.
    let (network, members) = bind("mlp.pt2", posterior("pyro-guide.pt"), Some("pyro:identity")).unwrap();
    let spec = Spec::of_network(network.symmetry()).unwrap();
    let mean = members[0].mean(spec.layout()).unwrap();
    let error = members[0].std(&mean).unwrap_err().to_string();
    assert!(error.contains("`--format pyro:softplus`"), "{error}");
    let (_, members) = bind("mlp.pt2", posterior("pyro-guide.pt"), Some("pyro:sigmoid*0.5")).unwrap();
    assert!(members[0].std(&mean).unwrap().values().iter().all(|std| (0.0..=0.5).contains(std)));
}

#[test]
fn a_network_of_other_names_is_refused_with_what_the_file_has() {
    let fixture = Fixture { file: "blitz.pt", network: "mlp.pt2", convention: "blitz" };
    let error = bind(fixture.network, fixture.path(), None).unwrap_err().to_string();
    for part in ["6 tensors of the network are not in it (`fc1.weight`", "`conv1.weight_mu`", "`--format`"] {
        assert!(error.contains(part), "{error}");
    }
    let error = bind("conv.pt2", fixture.path(), Some("torchbnn")).unwrap_err().to_string();
    assert!(error.contains("6 tensors of the network are not in it"), "{error}");
}
