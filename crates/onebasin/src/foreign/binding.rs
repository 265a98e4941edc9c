//! Finds the tensors of a network in a checkpoint: means, standard deviations, and what is permuted along.

use super::convention::{CONVENTIONS, Convention, POINTS, fill};
use crate::error::{Error, List, Result};
use onebasin_graph::symmetry::{Symmetry, TensorAxes};
use std::collections::{BTreeMap, BTreeSet};

/// A tensor of a checkpoint, without its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Whether its elements are floating-point numbers.
    pub is_float: bool,
}

/// Where the tensors of a network are in a checkpoint, by their indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The mean, or the value of a point.
    pub mean: usize,
    /// What the standard deviation is computed from.
    pub scale: Option<usize>,
    /// Tensors of the same shape that are permuted along.
    pub along: Vec<usize>,
}

/// A network found in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// How standard deviations are stored; none if there are none.
    pub convention: Option<&'static Convention>,
    /// What stands before the names of the network's tensors.
    pub prefix: String,
    /// For each tensor of the network, in order.
    pub tensors: Vec<Bound>,
}

/// What is asked of a checkpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// Name of the convention; found out if there is none.
    pub format: Option<&'a str>,
    /// Beginnings of the names of tensors that are no part of the network and stay as they are.
    pub keep: &'a [String],
}

/// Names of missing or superfluous tensors that are printed.
const SHOWN: usize = 5;

impl Binding {
    /// Finds all tensors of a network; an error names those that are missing, superfluous or of another shape.
    ///
    /// `shared` are groups of tensors that share their bytes, such as tied weights, and `aliases` other names of the network's tensors.
    pub fn new(
        symmetry: &Symmetry,
        headers: &[Header],
        (shared, aliases): (&[Vec<usize>], &BTreeMap<String, String>),
        wanted: Wanted<'_>,
    ) -> Result<Self> {
        let names: BTreeMap<&str, usize> = headers.iter().map(|header| &*header.name).zip(0..).collect();
        let conventions: Vec<Option<&'static Convention>> = match wanted.format {
            Some(POINTS) => vec![None],
            Some(name) => vec![Some(Convention::find(name)?)],
            None => [None].into_iter().chain(CONVENTIONS.iter().map(Some)).collect(),
        };
        let search = Search { symmetry, headers, shared, aliases, names };
        let mut best: Option<Found> = None;
        for convention in conventions {
            for found in search.prefixes(convention).into_iter().map(|prefix| search.find(convention, prefix)) {
                if best.as_ref().is_none_or(|best| found.rank() > best.rank()) {
                    best = Some(found);
                }
            }
        }
        let best = best.filter(|found| found.missing.is_empty()).ok_or_else(|| search.missing(wanted.format))?;
        if wanted.format.is_some_and(|name| name != POINTS) && best.scales() == 0 {
            let fault =
                format!("no tensor has a standard deviation as `{}` stores it", wanted.format.unwrap_or_default());
            return Err(Error::Checkpoint { fault });
        }
        let binding = search.with_tied(search.with_copies(best));
        search.check_shapes(&binding)?;
        search.check_rest(&binding, wanted.keep)?;
        Ok(binding)
    }

    /// The indices of all tensors that permutations of a tensor of the network act on.
    pub fn permuted(&self, tensor: usize) -> impl Iterator<Item = usize> {
        let Bound { mean, scale, along } = &self.tensors[tensor];
        [*mean].into_iter().chain(*scale).chain(along.iter().copied())
    }
}

struct Search<'a> {
    symmetry: &'a Symmetry,
    headers: &'a [Header],
    shared: &'a [Vec<usize>],
    aliases: &'a BTreeMap<String, String>,
    names: BTreeMap<&'a str, usize>,
}

/// What one convention and one prefix explain.
struct Found {
    convention: Option<&'static Convention>,
    prefix: String,
    tensors: Vec<Bound>,
    missing: Vec<String>,
}

impl Found {
    fn scales(&self) -> usize {
        self.tensors.iter().filter(|bound| bound.scale.is_some()).count()
    }

    /// Fewest missing, then most standard deviations, then the shortest prefix.
    fn rank(&self) -> (std::cmp::Reverse<usize>, usize, std::cmp::Reverse<usize>) {
        use std::cmp::Reverse;
        (Reverse(self.missing.len()), self.scales(), Reverse(self.prefix.len()))
    }
}

impl Search<'_> {
    /// What may stand before all names: what stands before one of the first tensor's names.
    fn prefixes(&self, convention: Option<&'static Convention>) -> BTreeSet<String> {
        let Some(first) = self.symmetry.tensors.first() else { return BTreeSet::new() };
        let means =
            convention.into_iter().flat_map(|convention| convention.pairs).map(|pair| fill(pair[0], &first.name));
        let means: Vec<String> = means.chain([first.name.clone()]).collect();
        let ends = |name: &str, mean: &str| {
            let before = name.strip_suffix(mean)?;
            (before.is_empty() || before.ends_with(['.', '/'])).then(|| before.to_owned())
        };
        let names = self.names.keys();
        names.flat_map(|name| means.iter().filter_map(move |mean| ends(name, mean))).collect()
    }

    fn find(&self, convention: Option<&'static Convention>, prefix: String) -> Found {
        let index = |name: &str| self.names.get(&*format!("{prefix}{name}")).copied();
        let (mut tensors, mut missing) = (Vec::new(), Vec::new());
        for TensorAxes { name, .. } in &self.symmetry.tensors {
            let pairs = convention.into_iter().flat_map(|convention| convention.pairs);
            let mut pairs =
                pairs.filter_map(|[mean, scale]| Some([index(&fill(mean, name))?, index(&fill(scale, name))?]));
            let along = || {
                let all = convention.into_iter().flat_map(|convention| convention.along);
                all.filter_map(|along| index(&fill(along, name))).collect()
            };
            if let Some([mean, scale]) = pairs.next() {
                tensors.push(Bound { mean, scale: Some(scale), along: along() });
            } else if let Some(mean) = index(name) {
                tensors.push(Bound { mean, scale: None, along: Vec::new() });
            } else {
                missing.push(name.clone());
            }
        }
        Found {
            convention: convention.filter(|_| tensors.iter().any(|bound| bound.scale.is_some())),
            prefix,
            tensors,
            missing,
        }
    }

    /// Adds complete copies of the network under other prefixes, such as averaged weights, to what is permuted along.
    fn with_copies(&self, found: Found) -> Binding {
        let Found { convention, prefix, mut tensors, .. } = found;
        for other in self.prefixes(convention) {
            let copy = self.find(convention, other);
            if copy.prefix == prefix || !copy.missing.is_empty() {
                continue;
            }
            for (bound, copy) in tensors.iter_mut().zip(copy.tensors) {
                let new = [copy.mean].into_iter().chain(copy.scale).chain(copy.along);
                let own: Vec<usize> = new.filter(|index| *index != bound.mean && Some(*index) != bound.scale).collect();
                bound.along.extend(own);
            }
        }
        Binding { convention, prefix, tensors }
    }

    /// Adds other names of the same bytes, such as those of tied weights, to what is permuted along.
    fn with_tied(&self, mut binding: Binding) -> Binding {
        let mut bound: BTreeSet<usize> = (0..binding.tensors.len()).flat_map(|index| binding.permuted(index)).collect();
        for index in 0..binding.tensors.len() {
            let name = &self.symmetry.tensors[index].name;
            let others = self.aliases.iter().filter(|(_, of)| *of == name);
            let others =
                others.filter_map(|(other, _)| self.names.get(&*format!("{}{other}", binding.prefix)).copied());
            let new: Vec<usize> = others.filter(|tensor| bound.insert(*tensor)).collect();
            binding.tensors[index].along.extend(new);
            let own: Vec<usize> = binding.permuted(index).collect();
            let tied = self.shared.iter().filter(|group| group.iter().any(|tensor| own.contains(tensor))).flatten();
            let same = |tensor: &&usize| self.headers[**tensor].shape == self.headers[own[0]].shape;
            let new: Vec<usize> = tied.filter(same).copied().filter(|tensor| bound.insert(*tensor)).collect();
            binding.tensors[index].along.extend(new);
        }
        binding
    }

    fn check_shapes(&self, binding: &Binding) -> Result<()> {
        for (tensor, bound) in self.symmetry.tensors.iter().zip(&binding.tensors) {
            let (expected, entries) = (&tensor.shape, tensor.shape.iter().product::<usize>());
            let own = [bound.mean].into_iter().chain(bound.scale).map(|index| (index, false));
            for (index, rows) in own.chain(bound.along.iter().map(|index| (*index, true))) {
                let Header { name, shape, is_float } = &self.headers[index];
                if !is_float {
                    let fault = format!("tensor `{name}` does not hold floating-point numbers");
                    return Err(Error::Checkpoint { fault });
                }
                if merges_to(shape, expected) || rows && matches!(shape[..], [_, row] if row == entries) {
                    continue;
                }
                let reversed = shape.iter().rev().eq(expected);
                let cause = if reversed { "; it is transposed: save it as the network reads it" } else { "" };
                let fault =
                    format!("tensor `{name}` has the shape {shape:?} where the network has {expected:?}{cause}");
                return Err(Error::Checkpoint { fault });
            }
        }
        Ok(())
    }

    /// Refuses tensors that are no part of the network, because they may depend on the order of its units.
    fn check_rest(&self, binding: &Binding, keep: &[String]) -> Result<()> {
        let bound: BTreeSet<usize> = (0..binding.tensors.len()).flat_map(|index| binding.permuted(index)).collect();
        let is_rest = |(index, header): &(usize, &Header)| {
            let several = header.shape.iter().product::<usize>() > 1;
            let kept = keep.iter().any(|kept| header.name.starts_with(&**kept));
            header.is_float && several && !kept && !bound.contains(index)
        };
        let rest: Vec<String> =
            self.headers.iter().enumerate().filter(is_rest).map(|(_, header)| header.name.clone()).collect();
        if rest.is_empty() {
            return Ok(());
        }
        let has = |part: &str| rest.iter().any(|name| name.contains(part));
        let cause = if has("running_mean") {
            "the exporter has probably folded normalisations into other layers: export with torch.export.save, or with \
             dynamo=True and optimize=False"
        } else if ["optim", "exp_avg", "momentum"].into_iter().any(has) {
            "they look like the state of an optimiser, which would no longer fit the permuted weights"
        } else {
            "the network's graph does not read them, and they may depend on the order of its units"
        };
        let beginning = rest[0].split_inclusive(['.', '/']).next().unwrap_or_default();
        let fault = format!(
            "{} tensors are no part of the network ({}): {cause}; `--keep {beginning}` leaves those that begin so as they are",
            rest.len(),
            shown(&rest)
        );
        Err(Error::Checkpoint { fault })
    }

    /// Says which tensors were not found, as points or by the convention asked for, and what there is instead.
    fn missing(&self, format: Option<&str>) -> Error {
        let all: Vec<String> = self.symmetry.tensors.iter().map(|tensor| tensor.name.clone()).collect();
        let missing: Vec<String> = {
            let convention = format.and_then(|name| Convention::find(name).ok());
            let found = self.prefixes(convention).into_iter().map(|prefix| self.find(convention, prefix));
            found.min_by_key(|found| found.missing.len()).map_or(all, |found| found.missing)
        };
        let there: Vec<String> = self.headers.iter().map(|header| header.name.clone()).collect();
        let cause = match missing.iter().find(|name| name.contains("::") || name.starts_with("val_")) {
            Some(folded) => format!(
                "; names such as `{folded}` are made when an exporter folds constants: export the network in training mode \
                 without constant folding, or with torch.export.save"
            ),
            None => String::new(),
        };
        let fault = format!(
            "{} tensors of the network are not in it ({}); it has {}{cause}; `--format` names how it stores a posterior, one of {}",
            missing.len(),
            shown(&missing),
            if there.is_empty() { "none".to_owned() } else { shown(&there) },
            List([POINTS].into_iter().chain(CONVENTIONS.iter().map(|own| own.name)).map(str::to_owned).collect())
        );
        Error::Checkpoint { fault }
    }
}

fn shown(names: &[String]) -> String {
    let some = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{some}, …") } else { some }
}

/// Whether a shape becomes another when neighbouring axes are made one.
fn merges_to(fine: &[usize], coarse: &[usize]) -> bool {
    let mut fine = fine.iter();
    for &size in coarse {
        let mut product = 1;
        if size == 1 {
            if fine.next() != Some(&1) {
                return false;
            }
            continue;
        }
        while product < size {
            let Some(next) = fine.next() else { return false };
            product *= next;
        }
        if product != size {
            return false;
        }
    }
    fine.all(|size| *size == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onebasin_graph::symmetry::Segment;

    fn symmetry() -> Symmetry {
        let fixed = |units| vec![Segment { group: None, units, repeat: 1, blocks: 1 }];
        let tensor = |name: &str, shape: &[usize]| TensorAxes {
            name: name.to_owned(),
            shape: shape.to_vec(),
            axes: shape.iter().map(|size| fixed(*size)).collect(),
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
        Binding::new(&symmetry(), &headers(names), (&[], &BTreeMap::new()), wanted)
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
        assert_eq!(binding.tensors.iter().map(|bound| bound.mean).collect::<Vec<_>>(), [2, 1, 3]);
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
        assert_eq!(binding.tensors[2], Bound { mean: 5, scale: None, along: vec![2] });
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
        assert_eq!(binding.convention.unwrap().name, "bayesian-torch");
        assert_eq!(binding.tensors[0], Bound { mean: 0, scale: Some(1), along: Vec::new() });
        assert_eq!(binding.tensors[2], Bound { mean: 4, scale: None, along: Vec::new() });
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
    fn neighbouring_axes_merge() {
        assert!(merges_to(&[4, 3, 2], &[4, 6]) && merges_to(&[4, 3], &[4, 3]) && merges_to(&[1, 5], &[1, 5]));
        assert!(!merges_to(&[4, 3, 2], &[6, 4]) && !merges_to(&[4, 3], &[4, 3, 2]) && !merges_to(&[4, 3, 2], &[4, 3]));
    }
}
