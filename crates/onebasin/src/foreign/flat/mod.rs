//! Conventions that store all parameters of a network in one vector, one tensor behind the other.

mod diagonal;
mod ivon;
mod laplace;

use super::binding::{Binding, Bound, Slot, Stored};
use super::listing::{Header, Listing};
use super::names::{Found, Search};
use super::transform::Transform;
use crate::error::{Error, Result};

/// Vectors of all parameters.
struct Vectors {
    /// Name of the convention.
    convention: &'static str,
    /// What stands before the names of the vectors.
    prefix: String,
    /// The means; none if they are those of a plain network in the same file.
    mean: Option<usize>,
    /// What the standard deviations are computed from.
    scale: usize,
    /// Other vectors, which are permuted along.
    along: Vec<usize>,
    transform: Transform,
    prior: Prior,
}

/// The prior precision.
enum Prior {
    /// As the transform has it.
    Same,
    /// One number for each tensor, in the order of the vector.
    OfTensors(Vec<f64>),
    /// A vector.
    OfEntries(usize),
}

/// All networks that are found in vectors of a checkpoint, of one convention or of any.
///
/// What is found unmistakably but does not fit the network is an error.
pub(super) fn find(
    search: &Search<'_>,
    asked: Option<&'static str>,
    transform: Option<Transform>,
    keep: &[String],
) -> Result<Vec<Binding>> {
    let listing = search.listing;
    let mut found = Vec::new();
    if asked.is_none_or(|name| name == laplace::NAME) {
        found.extend(laplace::find(listing)?);
    }
    if asked.is_none_or(|name| name == ivon::NAME) {
        found.extend(ivon::find(listing, keep)?);
    }
    for kind in diagonal::KINDS.iter().filter(|kind| asked.is_none_or(|name| name == kind.name)) {
        found.extend(diagonal::find(listing, kind, asked.is_some(), transform)?);
    }
    let kept = |vectors: &Vectors| keep.iter().any(|kept| listing.headers[vectors.scale].name.starts_with(&**kept));
    found.retain(|vectors| !kept(vectors));
    found.into_iter().map(|vectors| bind(search, vectors)).collect()
}

/// Indices of the vectors whose names end so, each with what stands before.
fn vectors<'a>(listing: &'a Listing<'_>, end: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let before = move |(index, header): (usize, &'a Header)| {
        let before = header.name.strip_suffix(end)?;
        let own = before.is_empty() || before.ends_with(['.', '/']);
        (own && header.is_float && header.shape.len() == 1).then_some((index, before))
    };
    listing.headers.iter().enumerate().filter_map(before)
}

fn bind(search: &Search<'_>, vectors: Vectors) -> Result<Binding> {
    let (tensors, headers) = (&search.network.symmetry.tensors, &search.listing.headers);
    let total = headers[vectors.scale].entries();
    let own = [vectors.scale].into_iter().chain(vectors.mean).chain(vectors.along.iter().copied());
    if let Some(other) = own.into_iter().find(|index| headers[*index].shape != [total]) {
        let [own, other] = [vectors.scale, other].map(|index| &headers[index]);
        let fault = format!("`{}` has {} values where `{}` has {total}", other.name, other.entries(), own.name);
        return Err(Error::Checkpoint { fault });
    }
    let mut plain = search.copies(None, None);
    plain.sort_by_key(|copy| copy.prefix.len());
    let order = order(search, &vectors, total, plain.first())?;
    if let Prior::OfTensors(all) = &vectors.prior
        && all.len() != order.len()
    {
        let fault = format!(
            "it has {} prior precisions, and the network has {} tensors of {total} parameters in all: one, one for each tensor or one \
             for each parameter is read",
            all.len(),
            order.len()
        );
        return Err(Error::Checkpoint { fault });
    }
    let mut offsets = vec![None; tensors.len()];
    let mut offset = 0;
    for (place, tensor) in order.iter().enumerate() {
        offsets[*tensor] = Some((place, offset));
        offset += entries(search, *tensor);
    }
    let mut bound = Vec::new();
    for (index, place) in offsets.into_iter().enumerate() {
        let whole = |tensor: usize| Slot { tensor, offset: 0, row: entries(search, index) };
        let mut copies = plain.iter().map(|copy| whole(copy.tensors[index].mean));
        let Some((place, offset)) = place else {
            let mean = copies.next().ok_or_else(|| no_plain(&vectors, &tensors[index].name))?;
            bound.push(Bound { mean, std: None, along: copies.collect() });
            continue;
        };
        let part = |tensor: usize| Slot { tensor, offset, row: total };
        let mean = vectors.mean.map(part).or_else(|| copies.next());
        let mean = mean.ok_or_else(|| no_plain(&vectors, &tensors[index].name))?;
        let (transform, prior) = match &vectors.prior {
            Prior::Same => (vectors.transform, None),
            Prior::OfTensors(all) => (vectors.transform.with_prior(all[place]), None),
            Prior::OfEntries(tensor) => (vectors.transform, Some(part(*tensor))),
        };
        let along = vectors.along.iter().map(|tensor| part(*tensor)).chain(copies).collect();
        bound.push(Bound { mean, std: Some(Stored { slot: part(vectors.scale), transform, prior }), along });
    }
    // The names of buffers and of aliases are those of the plain network.
    let prefix = plain.first().map_or(vectors.prefix, |copy| copy.prefix.clone());
    Ok(Binding { convention: Some(vectors.convention), prefix, tensors: bound, kept: Vec::new() })
}

fn entries(search: &Search<'_>, tensor: usize) -> usize {
    search.network.symmetry.tensors[tensor].shape.iter().product()
}

/// The tensors of the network that a vector holds, in its order.
fn order(search: &Search<'_>, vectors: &Vectors, total: usize, plain: Option<&Found>) -> Result<Vec<usize>> {
    let tensors = &search.network.symmetry.tensors;
    let name = &search.listing.headers[vectors.scale].name;
    let count = |all: &[usize]| all.iter().map(|tensor| entries(search, *tensor)).sum::<usize>();
    let mut all: Vec<usize> = (0..tensors.len()).collect();
    if count(&all) != total {
        // Running statistics are no parameters.
        all.retain(|tensor| {
            !tensors[*tensor].name.ends_with("running_mean") && !tensors[*tensor].name.ends_with("running_var")
        });
    }
    if count(&all) != total {
        let fault = format!(
            "`{name}` has {total} values where the network has {} parameters: a posterior of some layers only, of frozen \
             parameters or with other variables has no known order",
            count(&all)
        );
        return Err(Error::Checkpoint { fault });
    }
    if !search.network.in_order {
        let Some(plain) = plain else {
            let fault = format!(
                "`{name}` is a vector of all parameters, and an ONNX file does not tell their order: give the network as \
                 torch.export.save writes it"
            );
            return Err(Error::Checkpoint { fault });
        };
        // The state dict of a model has its parameters in their order.
        let position = |tensor: usize| {
            let own = &tensors[tensor].name;
            let aliases = search.network.aliases.iter().filter(|(_, of)| *of == own).map(|(alias, _)| alias);
            let named = aliases.filter_map(|alias| search.listing.index(&format!("{}{alias}", plain.prefix)));
            named.chain([plain.tensors[tensor].mean]).min()
        };
        all.sort_by_key(|tensor| position(*tensor));
    }
    Ok(all)
}

fn no_plain(vectors: &Vectors, tensor: &str) -> Error {
    let fault = format!(
        "it has vectors of the format `{}`, but not `{tensor}`, which is in no vector: save the model's state dict in the same \
         file, by torch.save({{\"model\": model.state_dict(), …}}, file)",
        vectors.convention
    );
    Error::Checkpoint { fault }
}
