//! Alignment: permutes the units of posteriors, or of samples, so that similar units have the same position.

mod learned;
mod matching;
mod members;
mod result;
mod samples;

pub use result::{
    AlignResult, Aligned, Attempt, BeforeAndAfter, Objective, Outcome, Pair, Part, Permutation, Reference,
    RelabelledGroup, RelabelledSamples, Together,
};

pub(crate) use matching::Matching;

use crate::align;
use crate::align::{Criterion, Solver, Start, Tau};
use crate::arch::Arch;
use crate::error::{Error, Result};
use crate::experiment::inputs::{Source, some_once};
use crate::experiment::parts::UNFINISHED;
use crate::experiment::plan::PlannedPair;
use crate::experiment::{Context, Folder, Plan, Section, Stage, inputs};
use crate::net::{Net, Precision};
use crate::params::Params;
use crate::rng::Stream;
use crate::store::Provenance;
use crate::symmetry::{Permutations, Spec, relative_change};
use crate::threads::ThreadPool;
use serde::Serialize;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Folder of the posteriors that were permuted.
const ALIGNED: &str = "aligned";
/// Folder of the permutations.
const PERMUTATIONS: &str = "permutations";
/// The Gaussian that fits relabelled samples.
const GAUSSIAN: &str = "gaussian.safetensors";
/// Number of random inputs on which functions are compared.
const INPUTS: usize = 64;

named_enum! {
    /// What posteriors are aligned with.
    #[derive(Default)]
    pub enum Target {
        /// The first posterior.
        #[default]
        First = "first",
        /// The mean of all others, in turn.
        Mean = "mean",
        /// A common order of units, found for all posteriors at once.
        Universe = "universe",
        /// The Gaussian that fits all samples, sample by sample.
        Relabel = "relabel",
    }
}

named_enum! {
    /// What the posteriors of several pairs are aligned with.
    #[derive(Default)]
    pub enum PairReference {
        /// The second posterior of each pair with the first one of the pair.
        #[default]
        Pairwise = "pairwise",
        /// All posteriors with the first of all.
        First = "first",
        /// Each posterior with the mean of all others, in turn.
        Mean = "mean",
        /// All posteriors with a common order of units.
        Universe = "universe",
    }
}

impl PairReference {
    /// What all posteriors are aligned with, unless it is pair by pair.
    fn target(self) -> Option<Target> {
        match self {
            Self::Pairwise => None,
            Self::First => Some(Target::First),
            Self::Mean => Some(Target::Mean),
            Self::Universe => Some(Target::Universe),
        }
    }
}

settings! {
    /// Settings of alignments: the table `[align]` of an experiment and the flags of `onebasin align`.
    pub struct AlignSettings {
        /// What posteriors are aligned with: the first, the mean of all others in turn, a common order of units, or, for
        /// samples one by one, the Gaussian that fits them
        pub to: Target = Target::default() => value "NAME";
        /// Matching criteria; each gives an alignment of its own with each solver
        pub criteria: Vec<Criterion> = vec![Criterion::default()] => list "NAMES";
        /// Solvers of the alignments; `best` runs all and takes the best
        pub solvers: Vec<Solver> = vec![Solver::default()] => list "NAMES";
        /// Permutations that `coordinate-descent` starts from
        pub start: Start = Start::default() => value "NAME";
        /// Seed of the order of layers in `coordinate-descent`, of random starts and of draws
        pub seed: u64 = 0 => value "N";
        /// Balance the scales of relu units before the alignment, also those of the first posterior
        pub balance: bool = false;
        /// Mask units whose mean KL divergence from the prior, per parameter in nats, is below this; 0.02 is a good value
        /// [default: mask none]
        #[schemars(extend("x-unit" = "nats"))]
        pub exclude_prior: Option<f64> = None => optional "NATS";
        /// Number of training examples at most for the criterion `activation`, from the first on
        #[schemars(extend("x-unit" = "examples"))]
        pub examples: usize = 5000 => value "N";
        /// Number of draws of each posterior at most for the criterion `activation`
        pub draws: usize = 10 => value "N";
        /// Precision of activations and weights where they are multiplied, for the criteria `activation` and `learned`
        #[serde(skip_serializing_if = "Precision::is_default")]
        pub precision: Precision = Precision::default() => value "NAME";
        /// Number of steps of the criterion `learned` from each start
        pub steps: usize = 250 => value "N";
        /// Number of restarts of the criterion `learned`, at the best permutations so far
        pub restarts: usize = 0 => value "N";
        /// Number of training examples of a step of the criterion `learned`
        #[schemars(extend("x-unit" = "examples"))]
        pub batch: usize = 256 => value "N";
        /// Learning rate of the criterion `learned`
        pub learning_rate: f64 = 0.2 => value "RATE";
        /// Point of the geodesic where the criterion `learned` looks at the loss
        pub tau: Tau = Tau::default() => value "NAME";
        /// Restore the statistics of units (REPAIR) wherever the criterion `learned` looks at the loss
        pub repair: bool = false;
        /// Seconds for each pair after which the criterion `learned` stops, with the best permutations so far; the result
        /// then depends on the speed of the computer [default: no limit]
        #[schemars(extend("x-unit" = "seconds"))]
        pub seconds: Option<f64> = None => optional "N";
    }
}

impl AlignSettings {
    /// The settings of each alignment: one criterion and one solver each.
    pub fn combinations(&self) -> Vec<Self> {
        let with = |criterion: Criterion| {
            let of = move |solver: &Solver| Self { criteria: vec![criterion], solvers: vec![*solver], ..self.clone() };
            self.solvers.iter().map(of)
        };
        self.criteria.iter().copied().flat_map(with).collect()
    }

    /// The only criterion and the only solver, as the library takes them.
    pub(super) fn single(&self) -> Result<align::Settings> {
        let Self { start, seed, precision, .. } = *self;
        match (&self.criteria[..], &self.solvers[..]) {
            ([criterion], [solver]) => {
                Ok(align::Settings { criterion: *criterion, solver: *solver, start, seed, precision })
            }
            ([_], solvers) => Err(Error::setting("solvers", json!(solvers), "one solver for each alignment")),
            (criteria, _) => Err(Error::setting("criteria", json!(criteria), "one criterion for each alignment")),
        }
    }

    /// Provenance of a posterior that was aligned with these sources.
    fn provenance(&self, before: &Provenance, sources: &[Source]) -> Result<Provenance> {
        let align::Settings { criterion, solver, .. } = self.single()?;
        let (method, sources) = match self.to {
            Target::First => (String::new(), &sources[..1]),
            to => (format!("{to} of "), sources),
        };
        Ok(inputs::aligned(before, &method, sources, criterion, solver, self.balance))
    }
}

impl Section for AlignSettings {
    fn check(&self) -> Result<()> {
        let Self { to, criteria, solvers, exclude_prior, .. } = self;
        some_once("criteria", criteria, "a list of at least one name")?;
        some_once("solvers", solvers, "a list of at least one name")?;
        Error::unless_counted("examples", self.examples)?;
        Error::unless_counted("draws", self.draws)?;
        if let Some(nats) = exclude_prior {
            Error::unless(*nats > 0.0 && nats.is_finite(), "exclude_prior", nats, "a positive number")?;
            Error::unless(*to == Target::First, "exclude_prior", nats, "left out unless `to` is first")?;
        }
        let for_pairs = criteria.iter().find(|criterion| !criterion.is_symmetric());
        if let Some(criterion) = for_pairs.filter(|_| *to != Target::First) {
            return Err(Error::setting("criteria", criterion, "mean or w2 unless `to` is first"));
        }
        if let (Some(nats), Some(criterion)) = (exclude_prior, criteria.iter().find(|criterion| criterion.needs_data()))
        {
            return Err(Error::setting("exclude_prior", nats, &format!("left out for the criterion {criterion}")));
        }
        self.learning().check()?;
        self.seconds.map_or(Ok(()), |seconds| Error::unless_positive("seconds", seconds))?;
        let allowed = !self.balance || *to != Target::Relabel;
        Error::unless(allowed, "balance", true, "false if `to` is relabel, which looks at each sample alone")
    }

    fn plan(&self, plan: &mut Plan<'_>) -> Result<()> {
        for pair in plan.pairs("align")? {
            for single in self.combinations() {
                plan_alignment(plan, &pair, single.criteria[0], single.solvers[0], PairReference::Pairwise)?;
            }
        }
        Ok(())
    }
}

/// Aligns posteriors by one criterion and one solver.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Align {
    /// How posteriors are aligned; its lists have one entry each.
    pub settings: AlignSettings,
    /// Files, or folders of trainings; the first posterior is the one that stays.
    #[serde(skip)]
    pub posteriors: Vec<PathBuf>,
}

impl Stage for Align {
    const NAME: &'static str = "align";
    const REVISION: u32 = 2;
    const RESULT: &'static str = "alignment.json";
    const FILES: &'static [&'static str] = &[GAUSSIAN];
    const FOLDERS: &'static [(&'static str, &'static [&'static str])] =
        &[(ALIGNED, &[".safetensors", ".samples"]), (PERMUTATIONS, &[".json", ".jsonl"])];
    const UNFINISHED: Option<&'static str> = Some(UNFINISHED);
    type Result = AlignResult;

    fn inputs(&self) -> Vec<PathBuf> {
        inputs::files(&self.posteriors)
    }

    fn run(&self, context: &Context<'_>, folder: Option<&Folder>) -> Result<AlignResult> {
        let Self { settings, posteriors } = self;
        settings.check()?;
        let method = settings.single()?;
        let folder = folder.ok_or(Error::NoFolder { stage: Self::NAME })?;
        if posteriors.len() < 2 && settings.to != Target::Relabel {
            return Err(Error::Count { need: "an alignment needs at least 2 posteriors", got: posteriors.len() });
        }
        let sources = inputs::find(posteriors, Some(&folder.join("")))?;
        let outcome = match settings.to {
            Target::Relabel => samples::align(settings, method, &sources, folder, context)?,
            _ => members::align(settings, &sources, folder, context)?,
        };
        Ok(AlignResult { version: env!("CARGO_PKG_VERSION").to_owned(), settings: settings.clone(), outcome })
    }

    fn verify(result: &AlignResult) -> Result<()> {
        let Some((file, change)) = result.changed() else { return Ok(()) };
        let reason = format!("logits changed by {change:.1e} of the largest, so it is not the same function");
        Err(Error::File { path: file.to_owned(), reason })
    }
}

/// The file of a posterior that was permuted, inside the folder of the alignment.
fn aligned_file(name: &str) -> PathBuf {
    Path::new(ALIGNED).join(format!("{name}.safetensors"))
}

/// The file of the permutations of a posterior, inside the folder of the alignment.
pub fn permutations_file(name: &str) -> PathBuf {
    Path::new(PERMUTATIONS).join(format!("{name}.json"))
}

/// Where the permutations of an alignment that is known are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// Of the second posterior with the first: a file of permutations, or the result of an alignment.
    File(PathBuf),
    /// Of both posteriors with a common reference: files of permutations; none for the reference itself.
    Both([Option<PathBuf>; 2]),
}

impl Known {
    /// All files that are read.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        match self {
            Self::File(file) => vec![file.clone()],
            Self::Both(files) => files.iter().flatten().cloned().collect(),
        }
    }
}

/// Adds the alignment of a pair by a criterion and a solver to a plan, or that of all posteriors with a reference, unless it is
/// there; returns where the permutations of the pair are. All other settings are those of the table `[align]`.
pub(crate) fn plan_alignment(
    plan: &mut Plan<'_>,
    pair: &PlannedPair,
    criterion: Criterion,
    solver: Solver,
    reference: PairReference,
) -> Result<Known> {
    let table = plan.section::<AlignSettings>().cloned().unwrap_or_default();
    let settings = AlignSettings { criteria: vec![criterion], solvers: vec![solver], ..table };
    let Some(to) = reference.target() else {
        settings.check().map_err(|error| error.within("align"))?;
        let name = format!("{}/{criterion}-{solver}/{}", Align::NAME, pair.name);
        let folder = plan.add(&name, Align { settings, posteriors: pair.files().to_vec() });
        let moved = &pair.members[1];
        // Of posteriors that are there, names are unique among those of the alignment, not among all.
        let name = match moved.config {
            Some(_) => moved.name.clone(),
            None => inputs::find(&pair.files(), None)?.swap_remove(1).name,
        };
        return Ok(Known::File(folder.join(permutations_file(&name))));
    };
    let settings = AlignSettings { to, ..settings };
    settings.check().map_err(|error| error.within("align"))?;
    let (all, first) = (plan.posteriors(Align::NAME)?, plan.members()[0].name.clone());
    let folder =
        plan.add(&format!("{}/{criterion}-{solver}/{reference}", Align::NAME), Align { settings, posteriors: all });
    // The first posterior stays as it is.
    let file = |name: &str| (name != first).then(|| folder.join(permutations_file(name)));
    Ok(Known::Both([&pair.members[0], &pair.members[1]].map(|member| file(&member.name))))
}

/// Reads permutations, or the result of an alignment that names the file of those between two posteriors. A file of permutations
/// that lies where an alignment left it must be of these posteriors, too.
pub(crate) fn read_permutations(file: &Path, sources: [&Source; 2], spec: &Spec) -> Result<Permutations> {
    let text = read_text(file)?;
    let alignment = serde_json::from_str::<AlignResult>(&text).ok();
    if let Some(alignment) = &alignment {
        let inside = alignment.permutations_between(sources).map_err(|error| error.at(file.display()))?;
        return read_group_permutations(&file.with_file_name(inside), spec);
    }
    let folder = file.parent().filter(|folder| folder.ends_with(PERMUTATIONS)).and_then(Path::parent);
    if let Some(folder) = folder
        && let Ok(text) = read_text(&folder.join(Align::RESULT))
        && let Ok(alignment) = serde_json::from_str::<AlignResult>(&text)
    {
        let own = alignment.permutations_between(sources).map_err(|error| error.at(file.display()))?;
        if file.file_name() != own.file_name() {
            let reason = format!("it has permutations of another posterior than {}", sources[1].file.display());
            return Err(Error::File { path: file.to_owned(), reason });
        }
    }
    Permutations::from_json(spec, &text).map_err(|error| error.at(file.display()))
}

/// Reads permutations, of whichever posteriors.
pub(crate) fn read_group_permutations(file: &Path, spec: &Spec) -> Result<Permutations> {
    Permutations::from_json(spec, &read_text(file)?).map_err(|error| error.at(file.display()))
}

fn read_text(file: &Path) -> Result<String> {
    fs::read_to_string(file).map_err(|error| Error::file(file, error))
}

/// A network with random inputs on which its function must not change.
#[derive(Debug)]
struct FunctionCheck {
    net: Net,
    inputs: Vec<f32>,
}

impl FunctionCheck {
    fn new(arch: &Arch, seed: u64, pool: &ThreadPool) -> Result<Self> {
        let mut inputs = vec![0.0; INPUTS * arch.input().len()];
        Stream::new(seed, "align/images", 0).fill_normal(&mut inputs);
        Ok(Self { net: Net::new(arch, pool)?, inputs })
    }

    /// The largest change of a logit, relative to the largest logit.
    fn change(&mut self, before: &Params, after: &Params) -> Result<f64> {
        let before = self.logits(before)?;
        Ok(relative_change(&before, &self.logits(after)?))
    }

    fn logits(&mut self, params: &Params) -> Result<Vec<f32>> {
        let mut logits = vec![0.0; INPUTS * self.net.arch().classes()];
        self.net.logits(params, &self.inputs, &mut logits)?;
        Ok(logits)
    }
}
