//! What a posterior is: its network, how it was inferred, and the sizes of its means and standard deviations.

use super::{Description, size};
use onebasin::arch::Arch;
use onebasin::posterior::{Draws as _, Fit, Gaussian, Posterior};
use onebasin::store::{Provenance, StoredPosterior, StoredSamples};
use onebasin::threads::ThreadPool;
use onebasin_report::Table;
use serde::Serialize;
use std::path::Path;

/// The quantiles of standard deviations that are shown, in per cent.
const QUANTILES: [usize; 5] = [5, 25, 50, 75, 95];

/// The values of one tensor.
#[derive(Debug, Serialize)]
pub(super) struct TensorFacts {
    name: String,
    shape: Vec<usize>,
    values: usize,
    /// Euclidean norm of the means.
    norm: f64,
    /// Root mean square of the means.
    root_mean_square: f64,
    /// Quantiles of the standard deviations; none of a point.
    std_quantiles: Option<[f32; 5]>,
}

/// Describes the posterior in a file.
pub(super) fn describe(path: &Path) -> onebasin::error::Result<Description> {
    let (kind, gaussian, has_std, provenance) = if let Ok(samples) = StoredSamples::open(path) {
        let (count, chains) = (samples.len(), samples.chains());
        let gaussian = moments(&samples)?;
        let chains = if chains == 1 { "1 chain".to_owned() } else { format!("{chains} chains") };
        (format!("{count} samples of {chains}"), gaussian, count > 1, samples.provenance().clone())
    } else {
        // Whatever is wrong with the file is found again, and said.
        let StoredPosterior { posterior, provenance } = StoredPosterior::read(path)?;
        let kind = match &posterior {
            Posterior::Point(_) => "a point estimate".to_owned(),
            Posterior::LowRank(low_rank) => {
                format!("a Gaussian of rank {} plus a diagonal", low_rank.factor().len())
            }
            _ => "a diagonal Gaussian".to_owned(),
        };
        let has_std = !matches!(posterior, Posterior::Point(_));
        (kind, posterior.gaussian().into_owned(), has_std, provenance)
    };
    let mut shown = Description::new(path, format!("a posterior, {kind}"));
    facts(&mut shown, &provenance);
    shown.fact("parameters", gaussian.mean().layout().len());
    shown.fact("norm of the mean", format!("{:.5}", gaussian.mean().norm()));
    if has_std {
        shown.fact("norm of the standard deviations", format!("{:.5}", gaussian.std().norm()));
    }
    let values = gaussian.mean().values().iter().chain(gaussian.std().values());
    let wrong = values.filter(|value| !value.is_finite()).count();
    shown.maybe("values that are not finite", (wrong > 0).then_some(wrong));
    shown.fact("size", size(path));
    shown.tensors = tensors(&gaussian, has_std);
    Ok(shown)
}

/// The moments of samples, which are never all in memory.
fn moments(samples: &StoredSamples) -> onebasin::error::Result<Gaussian> {
    if samples.len() > 1 {
        return Ok(Fit::new(samples, 0, &ThreadPool::alone())?.posterior(0)?.gaussian().into_owned());
    }
    let mut point = onebasin::params::Params::zeros(samples.layout());
    samples.read(0, &mut point)?;
    Ok(Posterior::Point(point).gaussian().into_owned())
}

/// Where a posterior comes from.
fn facts(shown: &mut Description, provenance: &Provenance) {
    let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let network = provenance.arch.as_ref().and_then(|arch| serde_json::to_value(arch).ok());
    shown.maybe("network", network);
    let hidden = provenance.network().ok().map(|arch| hidden_layers(&arch));
    shown.maybe("hidden layers", hidden.filter(|layers| !layers.is_empty()));
    shown.maybe("symmetries", provenance.spec.as_ref().map(|spec| format!("{} groups of units", spec.groups().len())));
    let config = |path: &str| provenance.config.pointer(path).filter(|value| !value.is_null()).cloned();
    shown.maybe("method", config("/infer"));
    shown.maybe("data", known(&provenance.data));
    shown.maybe("pixels", config("/data/scaling"));
    shown.maybe("augmentation", config("/data/augment"));
    shown.maybe("likelihood", serde_json::to_value(provenance.likelihood).ok());
    shown.maybe("prior", config("/prior"));
    shown.maybe("temperature", config("/temperature").filter(|value| value.as_f64() != Some(1.0)));
    shown.maybe("started at", config("/start"));
    shown.maybe("seed", provenance.config.is_object().then_some(provenance.seed));
    shown.maybe("written by", known(&provenance.version).map(|version| format!("onebasin {version}")));
    if let Some(aligned) = &provenance.aligned {
        let balanced = if aligned.balanced { ", units balanced before" } else { "" };
        let how = format!("criterion {}, solver {}{balanced}", aligned.criterion, aligned.solver);
        shown.fact("aligned with", aligned.to.clone());
        shown.fact("aligned by", format!("{how}, onebasin {}", aligned.version));
    } else if provenance.config.is_object() {
        shown.fact("aligned with", "nothing: units are in the order of the training");
    }
}

/// The hidden layers of a network and their numbers of units.
fn hidden_layers(arch: &Arch) -> String {
    arch.hidden().map(|(_, node)| format!("{} {}", node.name, node.shape.channels)).collect::<Vec<_>>().join(", ")
}

fn tensors(gaussian: &Gaussian, has_std: bool) -> Vec<TensorFacts> {
    let facts = |tensor: &onebasin::params::Tensor| {
        let values = &gaussian.mean().values()[tensor.range()];
        let squares: f64 = values.iter().map(|value| f64::from(*value).powi(2)).sum();
        let mut stds = gaussian.std().values()[tensor.range()].to_vec();
        stds.sort_by(f32::total_cmp);
        let quantile = |percent: usize| stds.get(percent * stds.len().saturating_sub(1) / 100).copied();
        TensorFacts {
            name: tensor.name().to_owned(),
            shape: tensor.shape().to_vec(),
            values: values.len(),
            norm: squares.sqrt(),
            root_mean_square: (squares / values.len().max(1) as f64).sqrt(),
            std_quantiles: has_std.then(|| QUANTILES.map(|percent| quantile(percent).unwrap_or(0.0))),
        }
    };
    gaussian.mean().layout().tensors().iter().map(facts).collect()
}

/// The tensors as a table.
pub(super) fn table(tensors: &[TensorFacts]) -> Table {
    let has_std = tensors.iter().any(|tensor| tensor.std_quantiles.is_some());
    let titles = QUANTILES.map(|percent| format!("σ {percent} %"));
    let mut columns = vec!["shape", "values", "norm of mean", "RMS of mean"];
    columns.extend(titles.iter().map(String::as_str).filter(|_| has_std));
    let mut table = super::numbers("tensor", &columns);
    for tensor in tensors {
        let shape: Vec<String> = tensor.shape.iter().map(ToString::to_string).collect();
        let mut row = vec![tensor.name.clone(), shape.join("x"), tensor.values.to_string()];
        row.extend([tensor.norm, tensor.root_mean_square].map(|value| format!("{value:.4}")));
        row.extend(tensor.std_quantiles.into_iter().flatten().map(|value| format!("{value:.2e}")));
        table.push(row);
    }
    table
}
