//! Samples whose labels are sought one by one: all of them under one Gaussian, none of them in memory for long.

use super::Settings;
use super::comparison::Comparison;
use super::folder;
use super::report::Group;
use super::report::Outcome;
use super::report::Relabelled;
use super::report::Together;
use crate::commands::folder::Folder;
use crate::commands::members::Source;
use crate::commands::pool::Pool;
use crate::printer::Printer;
use onebasin::align;
use onebasin::align::Points;
use onebasin::align::Progress;
use onebasin::arch::Arch;
use onebasin::error::Error;
use onebasin::net::Net;
use onebasin::params::Params;
use onebasin::posterior::Draws;
use onebasin::posterior::Posterior;
use onebasin::store::SampleFiles;
use onebasin::store::StoredPosterior;
use onebasin::store::StoredSamples;
use onebasin::symmetry::Permutations;
use onebasin::symmetry::Spec;
use std::time::Instant;

/// Samples of each file whose functions are compared, at most.
const COMPARED: usize = 100;

/// Relabels samples and writes them, and the Gaussian that fits them.
pub(super) fn run(
    settings: &Settings,
    sources: &[Source],
    folder: &Folder,
    threads: usize,
    printer: &Printer,
) -> anyhow::Result<Outcome> {
    let method = settings.method;
    let all = Pool::open(sources, None)?;
    let first = all.files()[0].provenance();
    let arch = Arch::new(first.arch.clone())?;
    let spec = Spec::of(&arch);
    let net = Net::new(&arch, threads)?;

    let spinner = printer.spinner();
    let mut watch = |Progress { member, round, .. }: Progress| {
        spinner.set_message(format!("round {round}, sample {member}"));
    };
    let begun = Instant::now();
    let points = Points::new(&all, method.seed, usize::MAX);
    let found = align::relabel(&spec, &points, method.search(), net.team(), &mut watch)?;
    let seconds = begun.elapsed().as_secs_f64();
    spinner.finish_and_clear();

    // All that can be wrong with the input has been found by now.
    folder.begin()?;
    let mut comparison = Comparison::new(net, method.seed);
    let mut permutations = &found.many.permutations[..];
    let mut members = Vec::with_capacity(sources.len());
    for (source, samples) in sources.iter().zip(all.files()) {
        let (own, others) = permutations.split_at(samples.len());
        permutations = others;
        let permutations_file = folder::permutations_of_samples(&source.name);
        folder.write_lines(&permutations_file, own.iter().map(Permutations::to_json))?;
        let file = folder::aligned(&source.name);
        let path = folder.join(&file);
        let scratch = path.parent().expect("it lies in a folder");
        let mut chains = SampleFiles::open(scratch, samples.layout(), samples.chains(), 0)?;
        let mut sample = Params::zeros(samples.layout());
        for (index, own) in own.iter().enumerate() {
            samples.read(index, &mut sample)?;
            chains.push(index * samples.chains() / samples.len(), &spec.apply(own, &sample)?)?;
        }
        chains.gather(&path, method.provenance(samples.provenance(), sources)?)?;
        SampleFiles::remove(scratch)?;
        members.push(Relabelled {
            name: source.name.clone(),
            source: source.file.clone(),
            file,
            permutations_file,
            samples: samples.len(),
            changed: own.iter().filter(|own| own.transpositions() > 0).count(),
            change_of_function: change_of_function(samples, &StoredSamples::open(&path)?, &mut comparison)?,
            permutations: Group::means(&spec, own),
        });
    }
    let provenance = method.provenance(first, sources)?;
    let gaussian = StoredPosterior { posterior: Posterior::Gaussian(found.gaussian), provenance };
    gaussian.write(&folder.join(folder::gaussian()))?;
    let together = Together::new(&found.many, seconds);
    Ok(Outcome::Relabelled { gaussian: folder::gaussian().to_owned(), together, members })
}

/// The largest change of all samples that are compared; NaN if one of them is.
fn change_of_function(before: &StoredSamples, after: &StoredSamples, to: &mut Comparison) -> Result<f64, Error> {
    let [mut old, mut new] = [Params::zeros(before.layout()), Params::zeros(before.layout())];
    let count = before.draws(COMPARED);
    let mut largest = 0.0;
    for index in 0..count {
        before.draw(0, index, count, &mut old)?;
        after.draw(0, index, count, &mut new)?;
        let change = to.change(&old, &new)?;
        if change.is_nan() || change > largest {
            largest = change;
        }
    }
    Ok(largest)
}
