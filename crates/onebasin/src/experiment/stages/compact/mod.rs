//! Compaction: fits one Gaussian to many samples, and measures how much its predictions differ from theirs.

mod evaluator;

pub(super) use evaluator::Evaluator;

use crate::align;
use crate::align::{Points, Solver, Transformed};
use crate::data::Split;
use crate::error::{Error, Result};
use crate::experiment::inputs::{Source, some_once};
use crate::experiment::{Context, Folder, Plan, Section, Stage, inputs};
use crate::infer::diagnostics::Convergence;
use crate::infer::{Problem, diagnostics, distil};
use crate::measure::prune::{KeptBy, Pruned};
use crate::measure::{Agreement, Calibration, Quality, StdHistogram, mixing};
use crate::net::{Likelihood, Precision};
use crate::params::Params;
use crate::posterior::{Draws, Fit, Posterior};
use crate::store::{PooledSamples, Provenance, StoredPosterior};
use crate::symmetry::{Permutations, Scales, Spec};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

named_enum! {
    /// What samples are aligned with before a Gaussian is fitted to them.
    pub enum Relabelling {
        /// Nothing: they stay as they are.
        None = "none",
        /// The first sample.
        First = "first",
        /// The mean of all others, in turn.
        Mean = "mean",
        /// The Gaussian that fits all of them.
        Relabel = "relabel",
    }
}

settings! {
    /// Settings of a compaction: the table `[compact]` of an experiment and the flags of `onebasin compact`.
    pub struct CompactSettings {
        /// Relabellings of the samples; Gaussians are fitted after each: none, alignment with the first sample, with the mean of
        /// all others in turn, or with the Gaussian that fits them
        pub relabellings: Vec<Relabelling> = Relabelling::ALL.to_vec() => list "NAMES";
        /// Ranks of the covariances, each without its diagonal; 0 for a diagonal Gaussian
        pub ranks: Vec<usize> = vec![0, 20] => list "NUMBERS";
        /// Posterior whose predictions are the reference: a file, or the folder of a training [default: the samples]
        pub reference: Option<PathBuf> = None => optional "POSTERIOR";
        /// Balance the scales of the relu units of each sample before the alignment
        pub balance: bool = false;
        /// Solver of the alignments; `best` runs all and takes the best
        pub solver: Solver = Solver::default() => value "NAME";
        /// Number of samples at most, about, at equal distances in each chain [default: all]
        #[cfg_attr(feature = "clap", arg(long = "samples", id = "samples-at-most"))]
        pub samples: Option<usize> = None => optional "N";
        /// Number of test examples at most, from the first on [default: all]
        #[schemars(extend("x-unit" = "examples"))]
        pub test_examples: Option<usize> = None => optional "N";
        /// Number of Monte Carlo samples of the predictive distribution of each Gaussian
        pub draws: usize = 100 => value "N";
        /// Precision of activations and weights where they are multiplied, in predictions and distillation
        #[serde(skip_serializing_if = "Precision::is_default")]
        pub precision: Precision = Precision::default() => value "NAME";
        /// Seed of draws, alignments and distillation
        pub seed: u64 = 0 => value "N";
        /// Prune networks: keep the parameters with the smallest standard deviations, or the largest ratios of mean to it
        pub prune: bool = false;
        /// Distil the predictions of the samples into diagonal Gaussians, in so many epochs over all training examples of the
        /// data set, without their labels [default: do not]
        #[schemars(extend("x-unit" = "epochs"))]
        pub distil: Option<f64> = None => optional "EPOCHS";
    }
}

impl CompactSettings {
    /// Provenance of a Gaussian.
    fn provenance(&self, relabelling: Relabelling, before: &Provenance, sources: &[Source]) -> Provenance {
        if relabelling == Relabelling::None && !self.balance {
            return before.clone();
        }
        let criterion = align::Settings::default().criterion;
        inputs::aligned(before, &format!("{relabelling} of "), sources, criterion, self.solver, self.balance)
    }
}

impl Section for CompactSettings {
    fn check(&self) -> Result<()> {
        some_once("relabellings", &self.relabellings, "a list of at least one value")?;
        some_once("ranks", &self.ranks, "a list of at least one value")?;
        Error::unless_counted("samples", self.samples.unwrap_or(1))?;
        Error::unless_counted("test_examples", self.test_examples.unwrap_or(1))?;
        Error::unless_counted("draws", self.draws)?;
        let epochs = self.distil.unwrap_or(1.0);
        let expected = "a number of epochs above 0 and at most a million";
        Error::unless(epochs > 0.0 && epochs <= 1e6, "distil", epochs, expected)
    }

    fn plan(&self, plan: &mut Plan<'_>) -> Result<()> {
        plan.check_method(Compact::NAME, true)?;
        plan.add(Compact::NAME, Compact { settings: self.clone(), samples: plan.posteriors(Compact::NAME)? });
        Ok(())
    }
}

/// The result of a compaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompactResult {
    /// Version of onebasin.
    pub version: String,
    /// Settings of the compaction.
    pub settings: CompactSettings,
    /// Number of samples.
    pub samples: usize,
    /// Number of chains, if all have the same length.
    pub chains: Option<usize>,
    /// Number of parameters of the network.
    pub parameters: usize,
    /// Quality of the predictions of the samples, then of each Gaussian.
    pub rows: Vec<Row>,
    /// The samples after each relabelling.
    pub relabellings: Vec<Relabelled>,
}

/// Quality of the predictions of one posterior.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `samples`, or the relabelling that a Gaussian was fitted after, with `, distilled` behind it if it was.
    pub name: String,
    /// Rank of a Gaussian's covariance without its diagonal; none for the samples.
    pub rank: Option<usize>,
    /// Agreement with the reference.
    #[serde(flatten)]
    pub agreement: Agreement,
    /// Loss and error.
    #[serde(flatten)]
    pub quality: Quality,
    /// Calibration of the probabilities.
    #[serde(flatten)]
    pub calibration: Calibration,
    /// Quality of the network at the mean of a Gaussian; none for the samples.
    pub mean: Option<Quality>,
}

/// Samples after a relabelling, and the diagonal Gaussian that was fitted to them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relabelled {
    /// The relabelling.
    pub relabelling: Relabelling,
    /// Number of samples with other permutations than the identity.
    pub changed: usize,
    /// Mean number of transpositions of all groups over all samples.
    pub mean_transpositions: f64,
    /// Objective without permutations and after each round; empty without an alignment.
    pub history: Vec<f64>,
    /// Seconds that the alignment took.
    #[serde(default)]
    pub seconds: f64,
    /// Mixing of the parameters; none unless there are chains of enough samples.
    pub mixing: Option<Convergence>,
    /// Accuracy of pruned networks; none unless it was asked for.
    pub pruning: Option<Vec<PruningCurve>>,
    /// Histograms of the standard deviations of the diagonal Gaussian, one for each tensor.
    pub std_histograms: Vec<StdHistogram>,
}

/// A network of which fewer and fewer parameters are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PruningCurve {
    /// The network: `mean`, or `sample` for the last sample.
    pub network: String,
    /// Which parameters are kept.
    pub by: KeptBy,
    /// Quality at each share of parameters.
    pub points: Vec<Pruned>,
}

/// Fits Gaussians to samples.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Compact {
    /// Which Gaussians are fitted, and what is measured of them.
    pub settings: CompactSettings,
    /// Files of samples, or folders of trainings.
    #[serde(skip)]
    pub samples: Vec<PathBuf>,
}

impl Stage for Compact {
    const NAME: &'static str = "compact";
    const REVISION: u32 = 1;
    type Result = CompactResult;

    fn inputs(&self) -> Vec<PathBuf> {
        inputs::files(self.samples.iter().chain(&self.settings.reference))
    }

    fn owns(file: &str) -> bool {
        Relabelling::ALL.iter().any(|relabelling| {
            let rest = file.strip_prefix(relabelling.name()).and_then(|rest| rest.strip_suffix(".safetensors"));
            rest.is_some_and(|rest| {
                let rank = rest.strip_prefix("-rank");
                rest.is_empty() || rest == "-distilled" || rank.is_some_and(|rank| rank.parse::<usize>().is_ok())
            })
        })
    }

    fn run(&self, context: &Context<'_>, folder: Option<&Folder>) -> Result<CompactResult> {
        let settings = &self.settings;
        settings.check()?;
        let output = folder.map(|folder| folder.join(""));
        let sources = inputs::find(&self.samples, output.as_deref())?;
        let pooled = inputs::pooled_samples(&sources, settings.samples)?;
        let first = pooled.files()[0].provenance();
        let arch = first.network()?;
        let spec = Spec::of(&arch);
        let scales = if settings.balance { Some(Scales::of(&arch)?) } else { None };
        if let Some(epochs) = settings.distil.filter(|_| first.likelihood != Likelihood::Softmax) {
            let expected = "left out for networks whose likelihood is not softmax: only logits can be distilled";
            return Err(Error::setting("distil", epochs, expected));
        }
        let mut evaluator = Evaluator::new(settings, &sources[0], first, context)?;
        let samples = Samples { draws: &pooled, chains: pooled.chains(), sources: &sources, provenance: first };
        let lesson = settings.distil.map(|epochs| lesson(epochs, settings.precision, &pooled, &mut evaluator, context));
        let lesson = lesson.transpose()?;
        let work = Work { settings, samples, spec: &spec, scales: scales.as_ref(), compared: None, context };
        let (result, gaussians) = work.fit(&mut evaluator, lesson.as_ref())?;
        // All that can be wrong with the input has been found by now.
        write(&gaussians, folder)?;
        Ok(result)
    }
}

/// Writes Gaussians by their names.
pub(super) fn write(gaussians: &[(String, StoredPosterior)], folder: Option<&Folder>) -> Result<()> {
    let Some(folder) = folder else { return Ok(()) };
    folder.clear()?;
    gaussians.iter().try_for_each(|(file, stored)| stored.write(&folder.join(file)))
}

/// Samples to replace, and where they come from.
#[derive(Clone, Copy)]
pub(super) struct Samples<'a> {
    pub(super) draws: &'a dyn Draws,
    /// Number of chains of equal length, if they are of chains.
    pub(super) chains: Option<usize>,
    pub(super) sources: &'a [Source],
    pub(super) provenance: &'a Provenance,
}

/// Gaussians to be fitted.
pub(super) struct Work<'a> {
    pub(super) settings: &'a CompactSettings,
    pub(super) samples: Samples<'a>,
    pub(super) spec: &'a Spec,
    pub(super) scales: Option<&'a Scales>,
    /// What is compared in place of the samples to find their permutations.
    pub(super) compared: Option<&'a dyn Draws>,
    pub(super) context: &'a Context<'a>,
}

/// What is distilled: a problem, predictions (example, class), and a number of epochs.
type Lesson = (Problem, Vec<f64>, f64);

impl Work<'_> {
    /// Fits a Gaussian after each relabelling and of each rank, and compares its predictions with those of the samples. Returns also
    /// the Gaussians with the names of their files.
    pub(super) fn fit(
        &self,
        evaluator: &mut Evaluator<'_>,
        lesson: Option<&Lesson>,
    ) -> Result<(CompactResult, Vec<(String, StoredPosterior)>)> {
        let Self { settings, samples, spec, scales, compared, context } = self;
        let count = samples.draws.draws(usize::MAX);
        let mut result = CompactResult {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: (*settings).clone(),
            samples: count,
            chains: samples.chains,
            parameters: samples.draws.layout().len(),
            rows: vec![evaluator.samples(samples.draws)?],
            relabellings: Vec::new(),
        };

        let balanced = scales.map(|scales| Transformed::balanced(samples.draws, scales)).transpose()?;
        let source: &dyn Draws = balanced.as_ref().map_or(samples.draws, |balanced| balanced);
        let mut gaussians = Vec::new();
        for &relabelling in &settings.relabellings {
            let compared = compared.unwrap_or(source);
            let (permutations, history, seconds) = relabelling.find(spec, compared, settings, context)?;
            let relabelled = Transformed::relabelled(source, spec, &permutations)?;
            let largest = settings.ranks.iter().copied().max().unwrap_or(0);
            let fit = context.monitored(&format!("{relabelling}: fitting"), |monitor| {
                monitor.at(0, 0)?;
                Fit::new(&relabelled, largest, &context.pool)
            })?;
            let diagonal = fit.posterior(0)?.gaussian().into_owned();
            let provenance = settings.provenance(relabelling, samples.provenance, samples.sources);
            let mut keep = |file: String, posterior: Posterior| {
                gaussians.push((file, StoredPosterior { posterior, provenance: provenance.clone() }));
            };
            let mut fitted = Vec::new();
            for rank in &settings.ranks {
                let posterior = fit.posterior(*rank)?;
                // Samples may have fewer directions than were asked for.
                let rank = if let Posterior::LowRank(low_rank) = &posterior { low_rank.factor().len() } else { 0 };
                if fitted.contains(&rank) {
                    continue;
                }
                fitted.push(rank);
                result.rows.push(evaluator.gaussian(relabelling.name(), rank, &posterior)?);
                let suffix = if rank == 0 { String::new() } else { format!("-rank{rank}") };
                keep(format!("{relabelling}{suffix}.safetensors"), posterior);
            }
            if let Some((problem, predictions, epochs)) = lesson {
                let gaussian = context.monitored(&format!("{relabelling}: distilling"), |monitor| {
                    distil(problem, &diagonal, predictions, *epochs, settings.seed, &context.pool, monitor)
                })?;
                let posterior = Posterior::Gaussian(gaussian);
                result.rows.push(evaluator.gaussian(&format!("{relabelling}, distilled"), 0, &posterior)?);
                keep(format!("{relabelling}-distilled.safetensors"), posterior);
            }
            let pruning = if settings.prune { Some(evaluator.pruning(&diagonal, &last(&relabelled)?)?) } else { None };
            let chains = samples.chains.filter(|chains| count / chains >= diagnostics::MIN_SAMPLES_ESS);
            let transpositions: Vec<usize> = permutations.iter().map(Permutations::transpositions).collect();
            result.relabellings.push(Relabelled {
                relabelling,
                changed: transpositions.iter().filter(|transpositions| **transpositions > 0).count(),
                mean_transpositions: transpositions.iter().sum::<usize>() as f64 / transpositions.len() as f64,
                history,
                seconds,
                mixing: chains.map(|chains| mixing(&relabelled, chains)).transpose()?,
                pruning,
                std_histograms: StdHistogram::of(diagonal.std()),
            });
        }

        Ok((result, gaussians))
    }
}

impl Relabelling {
    /// Permutations of each sample and the history of the objective, and how many seconds they took.
    fn find(
        self,
        spec: &Spec,
        samples: &dyn Draws,
        settings: &CompactSettings,
        context: &Context<'_>,
    ) -> Result<(Vec<Permutations>, Vec<f64>, f64)> {
        let CompactSettings { solver, seed, .. } = *settings;
        let points = Points::new(samples, seed, usize::MAX);
        let settings = align::Settings { solver, seed, ..align::Settings::default() };
        let pool = &context.pool;
        let ((permutations, history), seconds) = context.measured(&format!("{self}: relabelling"), |monitor| {
            let many = match self {
                Self::None => {
                    return Ok((vec![Permutations::identity(spec); samples.draws(usize::MAX)], Vec::new()));
                }
                Self::First => align::to_reference(spec, &points, 0, settings, pool, monitor)?,
                Self::Mean => align::to_mean(spec, &points, settings, pool, monitor)?,
                Self::Relabel => align::relabel(spec, &points, settings, pool, monitor)?.many,
            };
            Ok((many.permutations, many.history))
        })?;
        Ok((permutations, history, seconds))
    }
}

/// What is distilled: predictions of the samples, (example, class), on all training examples of the data set.
fn lesson(
    epochs: f64,
    precision: Precision,
    pooled: &PooledSamples,
    evaluator: &mut Evaluator<'_>,
    context: &Context<'_>,
) -> Result<Lesson> {
    let provenance = pooled.files()[0].provenance();
    let config = inputs::config(provenance)?;
    let training = config.data.whole(Split::Train, context.data, &provenance.standardisation)?;
    let predictions = evaluator.predict("samples on training examples", pooled, usize::MAX, Some(&training))?;
    let problem = Problem {
        arch: provenance.network()?,
        likelihood: provenance.likelihood,
        prior: config.prior,
        temperature: 1.0,
        precision,
        training: Arc::new(training),
    };
    Ok((problem, predictions, epochs))
}

/// The last of the samples.
fn last(samples: &dyn Draws) -> Result<Params> {
    let count = samples.draws(usize::MAX);
    let mut sample = Params::zeros(samples.layout());
    samples.draw(0, count - 1, count, &mut sample)?;
    Ok(sample)
}
