//! The plane through two posteriors and the second one aligned: loss, error and log posterior on a grid.

use crate::align;
use crate::align::{Criterion, Solver};
use crate::data::Split;
use crate::error::Result;
use crate::experiment::stages::align::{PairReference, plan_alignment};
use crate::experiment::stages::pairs::{PairInputs, Wanted};
use crate::experiment::{Context, Folder, Plan, Section, Stage, inputs};
use crate::measure::{Density, Marginal, Plane as Grid, PlanePoint, PlaneSettings as Sampling, Triangle};
use crate::net::Precision;
use crate::posterior::Predictor;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Names of the corners.
pub const CORNERS: [&str; 3] = ["A", "B", "B aligned"];
/// All points of all planes.
const POINTS: &str = "plane.csv";

settings! {
    /// Settings of a plane: the table `[plane]` of an experiment and the flags of `onebasin plane`.
    pub struct PlaneSettings {
        /// Matching criterion that B is aligned with A by
        pub criterion: Criterion = Criterion::default() => value "NAME";
        /// Solver of the alignment; `best` runs all and takes the best
        pub solver: Solver = Solver::default() => value "NAME";
        /// Number of points of the grid along each axis
        pub points: usize = Sampling::default().points => value "N";
        /// Margin of the grid around the three posteriors, as a share of the longer side of the rectangle around them
        pub margin: f64 = Sampling::default().margin => value "SHARE";
        /// Number of Monte Carlo samples of the predictive distribution at each point; 0 for none
        pub samples: usize = Sampling::default().samples => value "N";
        /// Precision of activations and weights where they are multiplied
        #[serde(skip_serializing_if = "Precision::is_default")]
        pub precision: Precision = Precision::default() => value "NAME";
        /// Seed of draws and of the alignment
        pub seed: u64 = Sampling::default().seed => value "N";
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

impl PlaneSettings {
    pub(super) fn sampling(&self) -> Sampling {
        let Self { points, margin, samples, seed, .. } = *self;
        Sampling { points, margin, samples, seed }
    }

    fn wanted(&self) -> Wanted<'_> {
        let Self { dataset, splits, train_examples, test_examples, .. } = self;
        let (dataset, train_examples, test_examples) = (dataset.as_deref(), *train_examples, *test_examples);
        Wanted { dataset, splits, train_examples, test_examples }
    }
}

impl Section for PlaneSettings {
    fn check(&self) -> Result<()> {
        self.wanted().check()?;
        self.sampling().check()
    }

    fn plan(&self, plan: &mut Plan<'_>) -> Result<()> {
        plan.check_method(Plane::NAME, false)?;
        plan.check_dataset(Plane::NAME, self.dataset.as_deref())?;
        for pair in plan.pairs(Plane::NAME)? {
            let permutations = plan_alignment(plan, &pair, self.criterion, self.solver, PairReference::Pairwise)?;
            let alignments = vec![(self.criterion.to_string(), permutations)];
            let inputs = PairInputs { posteriors: pair.files(), alignments };
            plan.add(&format!("plane/{}", pair.name), Plane { settings: self.clone(), inputs });
        }
        Ok(())
    }

    fn datasets(&self) -> Vec<String> {
        self.dataset.iter().cloned().collect()
    }
}

/// Measures the plane.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Plane {
    /// What is measured.
    pub settings: PlaneSettings,
    /// Between which posteriors; the first alignment that is known replaces that of the criterion.
    #[serde(skip)]
    pub inputs: PairInputs,
}

/// The plane on each part of the data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaneResult {
    /// Version of onebasin.
    pub version: String,
    /// Settings of the measurement.
    pub settings: PlaneSettings,
    /// Data set, with the subsets of its training examples.
    pub data: String,
    /// Files of A and B.
    pub posteriors: Vec<PathBuf>,
    /// Name of the alignment of B with A.
    pub alignment: String,
    /// Number of transpositions of the permutations.
    pub transpositions: usize,
    /// The plane on each part of the data set.
    pub planes: Vec<Measured>,
}

/// The plane on one part of the data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Part of the data set.
    pub split: Split,
    /// Seconds it took.
    #[serde(default)]
    pub seconds: f64,
    /// The grid.
    #[serde(flatten)]
    pub plane: Grid,
}

impl Stage for Plane {
    const NAME: &'static str = "plane";
    const REVISION: u32 = 1;
    const FILES: &'static [&'static str] = &[POINTS];
    type Result = PlaneResult;

    fn inputs(&self) -> Vec<PathBuf> {
        self.inputs.files()
    }

    fn run(&self, context: &Context<'_>, _: Option<&Folder>) -> Result<PlaneResult> {
        let settings = &self.settings;
        settings.check()?;
        let pair = self.inputs.open(settings.wanted(), context)?;
        let provenance = &pair.stored[0].provenance;
        // The log posterior is that of the data that the posterior was trained on.
        let density = if settings.splits.contains(&Split::Train) && settings.dataset.is_none() {
            let config = inputs::config(provenance).map_err(|error| error.at(pair.sources[0].file.display()))?;
            let examples = config.data.training(context.data)?.len();
            let (prior, temperature) = (config.prior, config.temperature);
            Some(Density { arch: &pair.arch, prior, temperature, examples })
        } else {
            None
        };
        let mut predictor = Predictor::new(&pair.arch, provenance.likelihood, settings.precision, &context.pool)?;
        let (alignment, (third, permutations)) = if let Some((name, file)) = self.inputs.alignments.first() {
            (name.clone(), pair.read(file)?)
        } else {
            let PlaneSettings { criterion, solver, seed, precision, .. } = *settings;
            let method = align::Settings { criterion, solver, seed, precision, ..align::Settings::default() };
            (criterion.to_string(), self.inputs.align(&pair, method, context)?)
        };
        let [first, second] = &pair.gaussians;
        let triangle = Triangle::new([first, second, &third])?;

        let mut planes = Vec::new();
        for (split, examples) in &pair.examples {
            let density = density.filter(|_| *split == Split::Train);
            let (plane, seconds) = context.measured(&format!("the plane on {split} examples"), |monitor| {
                Grid::through(&triangle, &mut predictor, examples, settings.sampling(), density, monitor)
            })?;
            planes.push(Measured { split: *split, seconds, plane });
        }
        Ok(PlaneResult {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: settings.clone(),
            data: pair.data(settings.wanted()),
            posteriors: pair.files(),
            alignment,
            transpositions: permutations.transpositions(),
            planes,
        })
    }

    /// One line for each corner, with its name, and for each point of the grid; empty where there is no number.
    fn tables(result: &PlaneResult) -> Vec<(&'static str, String)> {
        let mut text = "split,corner,x,y,loss,error,marginal_loss,marginal_error,log_posterior\n".to_owned();
        for Measured { split, plane, .. } in &result.planes {
            let corners = CORNERS.into_iter().zip(&plane.corners);
            for (corner, point) in corners.chain(plane.points.iter().map(|point| ("", point))) {
                let PlanePoint { x, y, loss, error, marginal, log_posterior } = point;
                let marginal =
                    marginal.map_or_else(|| ",".to_owned(), |Marginal { loss, error }| format!("{loss},{error}"));
                let log_posterior = log_posterior.map_or_else(String::new, |value| value.to_string());
                writeln!(text, "{split},{corner},{x},{y},{loss},{error},{marginal},{log_posterior}")
                    .expect("a string can be written to");
            }
        }
        vec![(POINTS, text)]
    }
}
