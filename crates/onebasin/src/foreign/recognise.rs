//! Finds a network in a checkpoint: by the convention that explains it best, or by the one that is asked for.

use super::binding::{Binding, Wanted};
use super::convention::{Asked, CONVENTIONS, Convention, FLAT, POINTS};
use super::explain;
use super::flat;
use super::listing::{Listing, Tensors};
use super::names::{Found, Search};
use crate::error::{Error, Result};

impl Binding {
    /// Finds all tensors of a network; an error names those that are missing, superfluous or of another shape.
    pub fn new(network: Tensors<'_>, listing: &Listing<'_>, wanted: Wanted<'_>) -> Result<Self> {
        let asked = wanted.format.map(Asked::parse).transpose()?;
        let search = Search::new(network, listing);
        let binding = search.with_tied(find(&search, asked, wanted.keep)?);
        let wrong = explain::shapes(&search, &binding).or_else(|| explain::rest(&search, &binding, wanted.keep));
        wrong.map_or(Ok(binding), Err)
    }
}

fn find(search: &Search<'_>, asked: Option<Asked>, keep: &[String]) -> Result<Binding> {
    let (name, transform) = (asked.map(|asked| asked.name), asked.and_then(|asked| asked.transform));
    let mut flat = Vec::new();
    if name.is_none_or(|name| FLAT.contains(&name)) {
        flat = flat::find(search, name, transform, keep)?;
    }
    if let Some(name) = name.filter(|name| FLAT.contains(name)) {
        return flat.pop().ok_or_else(|| no_std(name));
    }
    let found = by_names(search, name);
    let mut fitting: Vec<&'static str> = flat.iter().filter_map(|binding| binding.convention).collect();
    fitting.extend(found.iter().filter_map(|found| found.convention).map(|convention| convention.name));
    if fitting.len() > 1 {
        let all = fitting.iter().map(|name| format!("`--format {name}`")).collect::<Vec<_>>().join(" or ");
        let fault =
            format!("it stores standard deviations in {} ways that fit equally: choose by {all}", fitting.len());
        return Err(Error::Checkpoint { fault });
    }
    if let Some(binding) = flat.pop() {
        return Ok(binding);
    }
    let convention = CONVENTIONS.iter().find(|convention| Some(convention.name) == name);
    let best = found.into_iter().next().ok_or_else(|| explain::missing(search, convention))?;
    if let Some(name) = name.filter(|name| *name != POINTS && best.scales() == 0) {
        return Err(no_std(name));
    }
    explain::ensemble(search, best.convention).map_or(Ok(()), Err)?;
    search.bind(best, transform)
}

/// The best that conventions of names explain; several if they explain it equally.
fn by_names(search: &Search<'_>, name: Option<&str>) -> Vec<Found> {
    let known = |convention: Option<&'static Convention>| match name {
        Some(name) => convention.map_or(POINTS, |convention| convention.name) == name,
        None => true,
    };
    let conventions = [None].into_iter().chain(CONVENTIONS.iter().map(Some)).filter(|convention| known(*convention));
    let mut best: Vec<Found> = Vec::new();
    for found in conventions.flat_map(|convention| search.all(convention)).filter(|found| found.missing.is_empty()) {
        match best.first().map(|best| found.rank().cmp(&best.rank())) {
            None | Some(std::cmp::Ordering::Greater) => best = vec![found],
            Some(std::cmp::Ordering::Equal) if best.iter().all(|own| own.convention != found.convention) => {
                best.push(found);
            }
            Some(_) => {}
        }
    }
    best
}

fn no_std(name: &str) -> Error {
    Error::Checkpoint { fault: format!("no tensor has a standard deviation as `{name}` stores it") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign::binding::Slot;
    use crate::foreign::listing::Header;
    use onebasin_graph::symmetry::{Segment, Symmetry, TensorAxes};
    use std::collections::BTreeMap;

    fn symmetry() -> Symmetry {
        let fixed = |units| vec![Segment { group: None, units, repeat: 1, blocks: 1 }];
        let tensor = |name: &str, shape: &[usize]| TensorAxes {
            name: name.to_owned(),
            shape: shape.to_vec(),
            axes: shape.iter().map(|size| fixed(*size)).collect(),
            statistics: false,
        };
        let tensors = vec![tensor("a.weight", &[3, 2]), tensor("a.bias", &[3]), tensor("b.weight", &[1, 3])];
        Symmetry { groups: Vec::new(), tensors, fixed: Vec::new() }
    }

    fn headers(names: &[(&str, &[usize])]) -> Vec<Header> {
        let header = |(name, shape): &(&str, &[usize])| Header {
            name: (*name).to_owned(),
            shape: shape.to_vec(),
            is_float: true,
        };
        names.iter().map(header).collect()
    }

    fn bind(names: &[(&str, &[usize])], wanted: Wanted<'_>) -> Result<Binding> {
        bind_in(names, wanted, true)
    }

    fn bind_in(names: &[(&str, &[usize])], wanted: Wanted<'_>, in_order: bool) -> Result<Binding> {
        let (symmetry, aliases, classes) = (symmetry(), BTreeMap::new(), BTreeMap::new());
        let network = Tensors { symmetry: &symmetry, aliases: &aliases, in_order };
        let numbers =
            BTreeMap::from([("optimizer.param_groups.0.ess", 10.0), ("optimizer.param_groups.0.weight_decay", 0.5)]);
        let numbers = numbers.into_iter().map(|(name, number)| (name.to_owned(), number)).collect();
        let shapes = headers(names);
        let read = |tensor: usize| Ok(vec![2.0; shapes[tensor].entries()]);
        let listing = Listing { headers: headers(names), shared: &[], numbers, classes: &classes, read: &read };
        Binding::new(network, &listing, wanted)
    }

    #[test]
    fn plain_tensors_are_found_behind_any_prefix() {
        let names: [(&str, &[usize]); 5] = [
            ("epoch", &[]),
            ("state_dict.module.a.bias", &[3]),
            ("state_dict.module.a.weight", &[3, 2]),
            ("state_dict.module.b.weight", &[1, 3]),
            ("state_dict.module.b.count", &[]),
        ];
        let binding = bind(&names, Wanted::default()).unwrap();
        assert_eq!((binding.convention, &*binding.prefix), (None, "state_dict.module."));
        assert_eq!(binding.tensors.iter().map(|bound| bound.mean.tensor).collect::<Vec<_>>(), [2, 1, 3]);
    }

    #[test]
    fn averaged_copies_are_permuted_along() {
        let names: [(&str, &[usize]); 6] = [
            ("ema.net.a.weight", &[3, 2]),
            ("ema.net.a.bias", &[3]),
            ("ema.net.b.weight", &[1, 3]),
            ("net.a.weight", &[3, 2]),
            ("net.a.bias", &[3]),
            ("net.b.weight", &[1, 3]),
        ];
        let binding = bind(&names, Wanted::default()).unwrap();
        assert_eq!(binding.prefix, "net.");
        let slot = |tensor| Slot { tensor, offset: 0, row: 3 };
        let bound = &binding.tensors[2];
        assert_eq!((bound.mean, &bound.along[..], bound.std), (slot(5), &[slot(2)][..], None));
    }

    #[test]
    fn conventions_are_recognised_by_names() {
        let names: [(&str, &[usize]); 5] = [
            ("module.a.mu_kernel", &[3, 2]),
            ("module.a.rho_kernel", &[3, 2]),
            ("module.a.mu_bias", &[3]),
            ("module.a.rho_bias", &[3]),
            ("module.b.weight", &[1, 3]),
        ];
        let binding = bind(&names, Wanted::default()).unwrap();
        assert_eq!(binding.convention, Some("bayesian-torch"));
        let places = |index: usize| binding.tensors[index].permuted().map(|slot| slot.tensor).collect::<Vec<_>>();
        assert_eq!((places(0), places(2)), (vec![0, 1], vec![4]));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let error = |names: &[(&str, &[usize])], wanted: Wanted<'_>| bind(names, wanted).unwrap_err().to_string();
        let whole: [(&str, &[usize]); 3] = [("a.weight", &[3, 2]), ("a.bias", &[3]), ("b.weight", &[1, 3])];
        let missing = error(&whole[..2], Wanted::default());
        assert!(missing.starts_with("1 tensors of the network are not in it (`b.weight`)"), "{missing}");
        let transposed: [(&str, &[usize]); 3] = [("a.weight", &[2, 3]), ("a.bias", &[3]), ("b.weight", &[1, 3])];
        assert!(error(&transposed, Wanted::default()).contains("it is transposed"));
        let extra = [&whole[..], &[("optimizer.0.exp_avg", &[3][..])]].concat();
        let message = error(&extra, Wanted::default());
        assert!(message.contains("state of an optimiser") && message.contains("`--keep optimizer.`"), "{message}");
        let keep = ["optimizer.".to_owned()];
        bind(&extra, Wanted { keep: &keep, ..Wanted::default() }).unwrap();
        let format = error(&whole, Wanted { format: Some("blitz"), ..Wanted::default() });
        assert!(format.contains("no tensor has a standard deviation as `blitz` stores it"), "{format}");
        let unknown = error(&whole, Wanted { format: Some("blits"), ..Wanted::default() });
        assert!(unknown.contains("blitz"), "{unknown}");
    }

    #[test]
    fn vectors_of_all_parameters_are_cut_into_tensors() {
        let names: [(&str, &[usize]); 5] = [
            ("model.a.weight", &[3, 2]),
            ("model.a.bias", &[3]),
            ("model.b.weight", &[1, 3]),
            ("optimizer.param_groups.0.momentum", &[12]),
            ("optimizer.param_groups.0.hess", &[12]),
        ];
        let binding = bind(&names, Wanted::default()).unwrap();
        assert_eq!(binding.convention, Some("ivon"));
        let last = &binding.tensors[2];
        assert_eq!(
            (last.mean, last.along[0]),
            (Slot { tensor: 2, offset: 0, row: 3 }, Slot { tensor: 3, offset: 9, row: 12 })
        );
        assert!((last.std.unwrap().transform.std(1.5, 0.0) - 20f32.sqrt().recip()).abs() < 1e-7);
        let shorter: Vec<(&str, &[usize])> =
            names.iter().map(|(name, shape)| (*name, if *shape == [12] { &[11] } else { *shape })).collect();
        let error = bind(&shorter, Wanted::default()).unwrap_err().to_string();
        assert!(error.contains("has 11 values where the network has 12 parameters"), "{error}");
        let keep = ["optimizer.".to_owned()];
        assert_eq!(bind(&names, Wanted { keep: &keep, ..Wanted::default() }).unwrap().convention, None);
    }

    #[test]
    fn vectors_without_a_known_order_are_refused() {
        let laplace: [(&str, &[usize]); 3] = [("mean", &[12]), ("H", &[12]), ("prior_precision", &[1])];
        let binding = bind_in(&laplace, Wanted::default(), true).unwrap();
        assert_eq!((binding.convention, binding.tensors[2].mean.offset), (Some("laplace"), 9));
        let error = |names: &[(&str, &[usize])]| bind_in(names, Wanted::default(), false).unwrap_err().to_string();
        assert!(error(&laplace).contains("an ONNX file does not tell their order"));
        // The state dict of the model tells it.
        let plain: [(&str, &[usize]); 3] = [("net.b.weight", &[1, 3]), ("net.a.weight", &[3, 2]), ("net.a.bias", &[3])];
        let binding = bind_in(&[&laplace[..], &plain[..]].concat(), Wanted::default(), false).unwrap();
        assert_eq!(binding.tensors.iter().map(|bound| bound.mean.offset).collect::<Vec<_>>(), [3, 9, 0]);
        let groups: [(&str, &[usize]); 2] =
            [("optimizer.param_groups.0.hess", &[9]), ("optimizer.param_groups.1.hess", &[3])];
        let message = error(&[&groups[..], &plain[..]].concat());
        assert!(message.contains("several groups") && message.contains("--keep optimizer."), "{message}");
        let wrong: [(&str, &[usize]); 3] = [("mean", &[12]), ("H", &[12]), ("prior_precision", &[2])];
        let message = bind(&wrong, Wanted::default()).unwrap_err().to_string();
        assert!(message.contains("2 prior precisions"), "{message}");
    }

    #[test]
    fn what_fits_equally_is_refused_with_the_names_of_formats() {
        let names: Vec<(String, &[usize])> = ["mu", "sigma", "rho"]
            .into_iter()
            .flat_map(|end| {
                [("a.weight", &[3, 2][..]), ("a.bias", &[3]), ("b.weight", &[1, 3])]
                    .map(|(name, shape)| (format!("{name}_{end}"), shape))
            })
            .collect();
        let names: Vec<(&str, &[usize])> = names.iter().map(|(name, shape)| (&**name, *shape)).collect();
        let error = bind(&names, Wanted::default()).unwrap_err().to_string();
        assert!(error.contains("`--format torch-uncertainty` or `--format blitz`"), "{error}");
        let keep: Vec<String> = ["a.weight_rho", "a.bias_rho", "b.weight_rho"].map(str::to_owned).to_vec();
        let binding = bind(&names, Wanted { format: Some("torch-uncertainty"), keep: &keep }).unwrap();
        assert_eq!(binding.convention, Some("torch-uncertainty"));
    }

    #[test]
    fn ensembles_samples_and_folded_normalisations_are_named() {
        let error = |names: &[(&str, &[usize])]| bind(names, Wanted::default()).unwrap_err().to_string();
        let whole: [(&str, &[usize]); 3] = [("a.weight", &[3, 2]), ("a.bias", &[3]), ("b.weight", &[1, 3])];
        let members: Vec<(String, &[usize])> =
            (0..2).flat_map(|member| whole.map(|(name, shape)| (format!("models.{member}.{name}"), shape))).collect();
        let members: Vec<(&str, &[usize])> = members.iter().map(|(name, shape)| (&**name, *shape)).collect();
        let message = error(&members);
        assert!(message.contains("2 networks") && message.contains("`models.0.`, `models.1.`"), "{message}");
        let message = error(&[("a.weight", &[7, 3, 2]), ("a.bias", &[7, 3]), ("b.weight", &[7, 1, 3])]);
        assert!(message.contains("one of 7 samples"), "{message}");
        let message = error(&[&whole[..], &[("norm.running_mean", &[3][..])]].concat());
        assert!(message.contains("optimize=False") && message.contains("folded"), "{message}");
        let message = error(&[
            ("n.a.weight_mu", &[3, 2]),
            ("n.a.weight_rho", &[3, 2]),
            ("n.a.bias_mu", &[3]),
            ("n.a.bias_rho", &[3]),
        ]);
        assert!(
            message.contains("the format `blitz` is closest, and lacks `n.b.weight_mu`, `n.b.weight_rho`"),
            "{message}"
        );
    }
}
