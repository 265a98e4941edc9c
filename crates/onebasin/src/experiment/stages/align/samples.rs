//! Alignment of samples one by one, all of them with one Gaussian; no more than a few are in memory at a time.

use super::result::{Outcome, RelabelledGroup, RelabelledSamples, Together};
use super::{AlignSettings, FunctionCheck, GAUSSIAN, PERMUTATIONS, aligned_file};
use crate::align;
use crate::align::Points;
use crate::error::Result;
use crate::experiment::inputs::Source;
use crate::experiment::{Context, Folder, inputs};
use crate::params::Params;
use crate::posterior::{Draws, Posterior};
use crate::store::{SampleFiles, StoredPosterior, StoredSamples};
use crate::symmetry::Spec;
use std::path::{Path, PathBuf};

/// Number of samples of each file whose functions are compared, at most.
const COMPARED: usize = 100;

/// Relabels samples, and writes them and the Gaussian that fits them.
pub(super) fn align(
    settings: &AlignSettings,
    method: align::Settings,
    sources: &[Source],
    folder: &Folder,
    context: &Context<'_>,
) -> Result<Outcome> {
    let all = inputs::pooled_samples(sources, None)?;
    let first = all.files()[0].provenance();
    let arch = first.network()?;
    let spec = Spec::of(&arch);
    let points = Points::new(&all, method.seed, usize::MAX);
    let (found, seconds) = context
        .measured("relabelling samples", |monitor| align::relabel(&spec, &points, method, &context.pool, monitor))?;

    // All that can be wrong with the input has been found by now.
    folder.clear()?;
    let mut function = FunctionCheck::new(&arch, method.seed, &context.pool)?;
    let mut permutations = &found.many.permutations[..];
    let mut members = Vec::with_capacity(sources.len());
    for (source, samples) in sources.iter().zip(all.files()) {
        let (own, others) = permutations.split_at(samples.len());
        permutations = others;
        let permutations_file = Path::new(PERMUTATIONS).join(format!("{}.jsonl", source.name));
        let lines: String = own.iter().map(|own| own.to_json() + "\n").collect();
        folder.write(&permutations_file, &lines)?;
        let file = aligned_file(&source.name);
        let path = folder.join(&file);
        let scratch = path.parent().expect("it lies in a folder");
        let mut chains = SampleFiles::open(scratch, samples.layout(), &vec![0; samples.chains()])?;
        let mut sample = Params::zeros(samples.layout());
        for (index, own) in own.iter().enumerate() {
            samples.read(index, &mut sample)?;
            chains.push(index * samples.chains() / samples.len(), &spec.apply(own, &sample)?)?;
        }
        chains.gather(&path, settings.provenance(samples.provenance(), sources)?)?;
        SampleFiles::remove(scratch)?;
        members.push(RelabelledSamples {
            name: source.name.clone(),
            source: source.file.clone(),
            file,
            permutations_file,
            samples: samples.len(),
            changed: own.iter().filter(|own| own.transpositions() > 0).count(),
            change_of_function: change_of_function(samples, &StoredSamples::open(&path)?, &mut function)?,
            permutations: RelabelledGroup::means(&spec, own),
        });
    }
    let provenance = settings.provenance(first, sources)?;
    let gaussian = StoredPosterior { posterior: Posterior::Gaussian(found.gaussian), provenance };
    gaussian.write(&folder.join(GAUSSIAN))?;
    let together = Together::new(found.many, seconds);
    Ok(Outcome::Relabelled { gaussian: PathBuf::from(GAUSSIAN), together, members })
}

/// The largest change of all samples that are compared; NaN if one of them is.
fn change_of_function(before: &StoredSamples, after: &StoredSamples, function: &mut FunctionCheck) -> Result<f64> {
    let [mut old, mut new] = [Params::zeros(before.layout()), Params::zeros(before.layout())];
    let count = before.draws(COMPARED);
    let mut largest = 0.0;
    for index in 0..count {
        before.draw(0, index, count, &mut old)?;
        after.draw(0, index, count, &mut new)?;
        let change = function.change(&old, &new)?;
        if change.is_nan() || change > largest {
            largest = change;
        }
    }
    Ok(largest)
}
