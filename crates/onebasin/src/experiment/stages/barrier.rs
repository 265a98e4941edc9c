//! The loss and error barriers between two posteriors: along paths, for several alignments.

use crate::align;
use crate::align::{Criterion, Solver};
use crate::arch::{Arch, Op};
use crate::data::{Examples, Split};
use crate::error::{Error, Result};
use crate::experiment::inputs::{once, some_once};
use crate::experiment::parts::{Parts, UNFINISHED};
use crate::experiment::stages::align::{PairReference, plan_alignment};
use crate::experiment::stages::pairs::{Pair, PairInputs, Permuted, Wanted};
use crate::experiment::{Context, Folder, Plan, Section, Stage, inputs};
use crate::measure::{Barrier as Rise, BarrierSettings as Sampling, Calibrated, Curve, Curves, Estimate, Point};
use crate::net::{Net, Precision};
use crate::path::{DataStatistics, Geodesic, Moments, Natural, Path, Rescale, Rescaled, Source};
use crate::posterior::{Gaussian, Predictor};
use crate::symmetry::Permutations;
use crate::threads::ThreadPool;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Number of training examples that tell the activation variance of units.
const STATISTICS_EXAMPLES: usize = 1000;
/// Name of the curve without an alignment.
pub const UNALIGNED: &str = "no alignment";
/// All points of all curves.
const CURVES: &str = "curves.csv";
/// Number of draws from a posterior at which units are looked at.
const DRAWS: usize = 16;
/// The same, and the number of examples, for a network with convolutions: every position of an image counts as an example.
const CONVOLUTIONS: (usize, usize) = (4, 500);

named_enum! {
    /// A path from one posterior to the other.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum PathKind {
        /// The Wasserstein geodesic: straight in means and standard deviations.
        #[default]
        Geodesic = "geodesic",
        /// Straight in natural parameters: means are weighed by precisions.
        Natural = "natural",
        /// The geodesic, with the activation variance of each unit restored from norms of weights.
        Rescaled = "rescaled",
        /// The geodesic, with the activation variance of each unit restored from propagated moments.
        RescaledMoments = "rescaled-moments",
        /// The geodesic, with the activation variance of each unit restored on training examples.
        RescaledData = "rescaled-data",
        /// Straight in natural parameters, with the activation variance restored from norms of weights.
        NaturalRescaled = "natural-rescaled",
        /// The geodesic, with the standard deviation of each unit restored on training examples.
        ScaleOnly = "scale-only",
        /// The geodesic, with the standard deviation and the mean of each unit restored on training examples (REPAIR).
        Repair = "repair",
    }
}

settings! {
    /// Settings of a barrier: the table `[barrier]` of an experiment and the flags of `onebasin barrier`.
    pub struct BarrierSettings {
        /// Matching criteria that B is aligned with A by; each gives curves of its own; `learned` has the defaults of an
        /// alignment unless there is a table of alignments or a file of permutations
        pub criteria: Vec<Criterion> = vec![Criterion::default()] => list "NAMES";
        /// Solver of the alignments; `best` runs all and takes the best
        pub solver: Solver = Solver::default() => value "NAME";
        /// What the posteriors of several pairs are aligned with: each other pair by pair, or all with one reference
        pub reference: PairReference = PairReference::default() => value "NAME";
        /// Paths from A to the aligned B; each gives a curve
        pub paths: Vec<PathKind> = vec![PathKind::default()] => list "NAMES";
        /// Measure each curve also with the softmax temperature that is best at each point; that of each half of the
        /// examples is fitted on the other half
        pub calibrate: bool = false;
        /// Number of points of each path, ends included; odd, so that the midpoint is one of them
        pub points: usize = 25 => value "N";
        /// Number of Monte Carlo samples at each point of a path
        pub samples: usize = 128 => value "N";
        /// Number of bootstrap replicates behind the standard errors
        pub replicates: usize = 200 => value "N";
        /// Precision of activations and weights where they are multiplied
        #[serde(skip_serializing_if = "Precision::is_default")]
        pub precision: Precision = Precision::default() => value "NAME";
        /// Seed of draws, replicates and alignments
        pub seed: u64 = 0 => value "N";
        /// Name of the data set to measure on [default: the one that A was trained on]
        pub dataset: Option<String> = None => optional "NAME";
        /// Parts of the data set to measure on
        pub splits: Vec<Split> = vec![Split::Train, Split::Test] => list "NAMES";
        /// Number of training examples at most, from the first on
        #[schemars(extend("x-unit" = "examples"))]
        pub train_examples: usize = 10_000 => value "N";
        /// Number of test examples at most, from the first on [default: all]
        #[schemars(extend("x-unit" = "examples"))]
        pub test_examples: Option<usize> = None => optional "N";
    }
}

impl BarrierSettings {
    pub(super) fn sampling(&self) -> Sampling {
        let Self { points, samples, replicates, seed, .. } = *self;
        Sampling { points, samples, replicates, seed }
    }

    fn wanted(&self) -> Wanted<'_> {
        let Self { dataset, splits, train_examples, test_examples, .. } = self;
        let (dataset, train_examples, test_examples) = (dataset.as_deref(), *train_examples, *test_examples);
        Wanted { dataset, splits, train_examples, test_examples }
    }
}

impl Section for BarrierSettings {
    fn check(&self) -> Result<()> {
        once("criteria", &self.criteria)?;
        some_once("paths", &self.paths, "at least one path")?;
        self.wanted().check()?;
        self.sampling().check()
    }

    fn plan(&self, plan: &mut Plan<'_>) -> Result<()> {
        plan.check_method(Barrier::NAME, false)?;
        plan.check_dataset(Barrier::NAME, self.dataset.as_deref())?;
        for pair in plan.pairs(Barrier::NAME)? {
            let known = |criterion: &Criterion| {
                let known = plan_alignment(plan, &pair, *criterion, self.solver, self.reference)?;
                Ok((criterion.to_string(), known))
            };
            let alignments = self.criteria.iter().map(known).collect::<Result<_>>()?;
            let inputs = PairInputs { posteriors: pair.files(), alignments };
            plan.add(&format!("barrier/{}", pair.name), Barrier { settings: self.clone(), inputs });
        }
        Ok(())
    }

    fn datasets(&self) -> Vec<String> {
        self.dataset.iter().cloned().collect()
    }
}

/// Measures barriers.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Barrier {
    /// What is measured.
    pub settings: BarrierSettings,
    /// Between which posteriors.
    #[serde(skip)]
    pub inputs: PairInputs,
}

/// Barriers along all paths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BarrierResult {
    /// Version of onebasin.
    pub version: String,
    /// Settings of the measurement.
    pub settings: BarrierSettings,
    /// Data set, with the subsets of its training examples.
    pub data: String,
    /// Files of A and B.
    pub posteriors: Vec<PathBuf>,
    /// Alignments of B with A, the first of which is none.
    pub alignments: Vec<Aligned>,
    /// Curves of all alignments, paths and parts of the data set.
    pub curves: Vec<Row>,
}

/// An alignment of the second posterior with the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aligned {
    /// Name of the alignment, which the names of its curves begin with.
    pub name: String,
    /// Wasserstein distance W2 between the posteriors.
    pub w2: f64,
    /// Number of transpositions of the permutations.
    pub transpositions: usize,
}

/// What was measured along one path on one part of the data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the curve.
    pub curve: String,
    /// The path; none for the mixture of both posteriors.
    pub path: Option<PathKind>,
    /// Part of the data set.
    pub split: Split,
    /// Number of examples.
    pub examples: usize,
    /// Number of Monte Carlo samples at each point.
    pub samples: usize,
    /// Seconds it took; none for curves that come with another: the mixture, calibrated ones, and those of the same alignment.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// Softmax temperature at each point of a calibrated curve, the geometric mean over examples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperatures: Option<Vec<f64>>,
    /// Loss and error along the path.
    #[serde(flatten)]
    pub measured: Curve,
}

impl Stage for Barrier {
    const NAME: &'static str = "barrier";
    const REVISION: u32 = 4;
    const FILES: &'static [&'static str] = &[CURVES];
    const UNFINISHED: Option<&'static str> = Some(UNFINISHED);
    type Result = BarrierResult;

    fn inputs(&self) -> Vec<PathBuf> {
        self.inputs.files()
    }

    fn run(&self, context: &Context<'_>, folder: Option<&Folder>) -> Result<BarrierResult> {
        let settings = &self.settings;
        settings.check()?;
        let pair = self.inputs.open(settings.wanted(), context)?;
        let first = &pair.stored[0];
        let mut predictor = Predictor::new(&pair.arch, first.provenance.likelihood, settings.precision, &context.pool)?;
        let aligned = self.alignments(&pair, context)?;

        let mut statistics = None;
        if settings.paths.iter().any(|kind| Paths::needs_examples(*kind)) {
            let training = inputs::config(&first.provenance)?.data.training(context.data)?;
            let examples = inputs::first_examples(training, Some(STATISTICS_EXAMPLES), &first.provenance)?;
            examples.check_fits(&pair.arch)?;
            statistics = Some(examples);
        }
        let paths = Paths::new(settings, &pair.arch, statistics.as_ref(), &context.pool)?;

        let (mut curves, mut number, parts) = (Vec::<Row>::new(), 0, Parts::new(self, folder)?);
        // Where the curves of each alignment begin.
        let mut begins = Vec::with_capacity(aligned.len());
        let count = (1 + (aligned.len() - 1) * settings.paths.len()) * pair.examples.len();
        for (index, (Aligned { name, .. }, to)) in aligned.iter().enumerate() {
            begins.push(curves.len());
            // What another criterion has found too is not measured again: `learned` often cannot gain.
            if let Some(same) = (1..index).find(|earlier| aligned[*earlier].1 == *to) {
                let from = aligned[same].0.name.len();
                let copy =
                    |row: &Row| Row { curve: format!("{name}{}", &row.curve[from..]), seconds: None, ..row.clone() };
                let copies: Vec<Row> = curves[begins[same]..begins[same + 1]].iter().map(copy).collect();
                number += settings.paths.len() * pair.examples.len();
                curves.extend(copies);
                continue;
            }
            // Units that are not aligned have no activation variance to restore.
            let kinds = if index == 0 { &[PathKind::Geodesic][..] } else { &settings.paths };
            for (&kind, (split, examples)) in
                kinds.iter().flat_map(|kind| pair.examples.iter().map(move |on| (kind, on)))
            {
                let name = if kind == PathKind::Geodesic { name.clone() } else { format!("{name}, {kind}") };
                number += 1;
                let task = format!("{name} on {split} examples, curve {number} of {count}");
                curves.extend(parts.part(&format!("curve{number}"), || {
                    let (measured, seconds) = context.measured(&task, |monitor| {
                        paths.with(kind, &pair.gaussians[0], to, |path| {
                            let (calibrate, sampling) = (settings.calibrate, settings.sampling());
                            Curves::along(path, &mut predictor, examples, calibrate, sampling, monitor)
                        })
                    })?;
                    Ok(rows(&name, kind, *split, measured, seconds, index == 0))
                })?);
            }
        }
        // The reference comes last.
        let (mut mixtures, mut curves): (Vec<Row>, Vec<Row>) = curves.into_iter().partition(|row| row.path.is_none());
        curves.append(&mut mixtures);
        Ok(BarrierResult {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: settings.clone(),
            data: pair.data(settings.wanted()),
            posteriors: pair.files(),
            alignments: aligned.into_iter().map(|(aligned, _)| aligned).collect(),
            curves,
        })
    }

    /// One line for each point of each curve; empty where there is no standard error.
    fn tables(result: &BarrierResult) -> Vec<(&'static str, String)> {
        let mut text = "curve,split,tau,loss,loss_standard_error,error,error_standard_error\n".to_owned();
        for Row { curve, split, measured, .. } in &result.curves {
            for Point { tau, loss, error } in &measured.points {
                let [loss, error] = [loss, error].map(|Estimate { value, standard_error }| {
                    format!("{value},{}", standard_error.map_or_else(String::new, |error| error.to_string()))
                });
                let curve = curve.replace('"', "\"\"");
                writeln!(text, "\"{curve}\",{split},{tau},{loss},{error}").expect("a string can be written to");
            }
        }
        vec![(CURVES, text)]
    }
}

impl Barrier {
    /// The second posterior as it is, then with its units permuted by the files that are known by other names than those of
    /// criteria, then by each criterion.
    fn alignments(&self, pair: &Pair, context: &Context<'_>) -> Result<Vec<(Aligned, Gaussian)>> {
        let BarrierSettings { criteria, solver, precision, seed, .. } = &self.settings;
        let aligned = |name: &str, (gaussian, permutations): Permuted| {
            let (w2, transpositions) = (pair.gaussians[0].distance(&gaussian)?, permutations.transpositions());
            Ok::<_, Error>((Aligned { name: name.to_owned(), w2, transpositions }, gaussian))
        };
        let mut all = vec![aligned(UNALIGNED, pair.permute(Permutations::identity(&pair.spec))?)?];
        for (name, known) in &self.inputs.alignments {
            if criteria.iter().all(|criterion| criterion.name() != name) {
                all.push(aligned(name, pair.read(known)?)?);
            }
        }
        let method = |criterion| align::Settings {
            criterion,
            solver: *solver,
            seed: *seed,
            precision: *precision,
            ..align::Settings::default()
        };
        for criterion in criteria {
            all.push(aligned(criterion.name(), self.inputs.align(pair, method(*criterion), context)?)?);
        }
        Ok(all)
    }
}

/// The rows of a curve: its path, the calibrated one if there is one, and the mixture if it is wanted.
pub(super) fn rows(
    name: &str,
    kind: PathKind,
    split: Split,
    measured: Curves,
    seconds: f64,
    with_mixture: bool,
) -> Vec<Row> {
    let Curves { examples, samples, path, mixture, calibrated } = measured;
    let row = |curve, path, measured| Row {
        curve,
        path,
        split,
        examples,
        samples,
        seconds: None,
        temperatures: None,
        measured,
    };
    let calibrated = calibrated.map(|Calibrated { temperatures, path }| Row {
        temperatures: Some(temperatures),
        ..row(format!("{name}, calibrated"), Some(kind), path)
    });
    let mixture = with_mixture.then(|| row("mixture".to_owned(), None, mixture));
    let path = Row { seconds: Some(seconds), ..row(name.to_owned(), Some(kind), path) };
    [path].into_iter().chain(calibrated).chain(mixture).collect()
}

impl BarrierResult {
    /// The loss and error barriers of all curves that are paths, in order.
    pub fn barriers(&self) -> impl Iterator<Item = (&Row, [Rise; 2])> {
        let paths = self.curves.iter().filter(|row| row.path.is_some());
        paths.map(|row| (row, [row.measured.loss.barrier, row.measured.error.barrier]))
    }

    /// The alignment that a curve belongs to; the first, which is none, for the mixture.
    pub fn alignment_of(&self, row: &Row) -> &Aligned {
        let own = |aligned: &&Aligned| {
            let rest = row.curve.strip_prefix(&aligned.name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
        };
        // A name may be the beginning of another one.
        self.alignments.iter().filter(own).max_by_key(|aligned| aligned.name.len()).unwrap_or(&self.alignments[0])
    }
}

/// What all paths share: statistics of activations, if one of them needs those.
struct Paths<'a> {
    arch: &'a Arch,
    moments: Option<Source>,
    data: Option<Source>,
}

impl<'a> Paths<'a> {
    /// Whether a path restores activations on training examples.
    fn needs_data(kind: PathKind) -> bool {
        matches!(kind, PathKind::RescaledData | PathKind::ScaleOnly | PathKind::Repair)
    }

    /// Whether a path needs training examples at all.
    fn needs_examples(kind: PathKind) -> bool {
        kind == PathKind::RescaledMoments || Self::needs_data(kind)
    }

    /// Collects the statistics that the kinds need; `examples` are there if one of them needs some.
    fn new(settings: &BarrierSettings, arch: &'a Arch, examples: Option<&Examples>, pool: &ThreadPool) -> Result<Self> {
        let BarrierSettings { paths: kinds, precision, seed, .. } = settings;
        let moments = examples.filter(|_| kinds.contains(&PathKind::RescaledMoments));
        let moments = moments.map(|examples| Moments::of(arch, examples)).transpose()?;
        let data = examples.filter(|_| kinds.iter().any(|kind| Self::needs_data(*kind)));
        let convolutions = arch.nodes().iter().any(|node| matches!(node.op, Op::Conv { .. }));
        let collect = |examples: &Examples| {
            let (draws, most) = if convolutions { CONVOLUTIONS } else { (DRAWS, examples.len()) };
            let net = Net::new(arch, pool)?.with_precision(*precision);
            DataStatistics::new(Box::new(net), &examples.first(most)?, draws, *seed, pool)
        };
        let data = data.map(collect).transpose()?;
        Ok(Self { arch, moments: moments.map(Source::Moments), data: data.map(|data| Source::Data(Box::new(data))) })
    }

    /// Calls `measure` with the path of a kind.
    fn with<T>(
        &self,
        kind: PathKind,
        from: &Gaussian,
        to: &Gaussian,
        measure: impl FnOnce(&dyn Path) -> Result<T>,
    ) -> Result<T> {
        let (geodesic, natural) = (Geodesic::new(from, to)?, Natural::new(from, to)?);
        let (straight, source, rescale): (&dyn Path, _, _) = match kind {
            PathKind::Geodesic => return measure(&geodesic),
            PathKind::Natural => return measure(&natural),
            PathKind::NaturalRescaled => (&natural, Some(&Source::Weights), Rescale::Signal),
            PathKind::Rescaled => (&geodesic, Some(&Source::Weights), Rescale::Signal),
            PathKind::RescaledMoments => (&geodesic, self.moments.as_ref(), Rescale::Signal),
            PathKind::RescaledData => (&geodesic, self.data.as_ref(), Rescale::Signal),
            PathKind::ScaleOnly => (&geodesic, self.data.as_ref(), Rescale::Scale),
            PathKind::Repair => (&geodesic, self.data.as_ref(), Rescale::ScaleAndMean),
        };
        let source = source.expect("the statistics of every kind were collected");
        measure(&Rescaled::new(straight, self.arch, source, rescale)?)
    }
}
