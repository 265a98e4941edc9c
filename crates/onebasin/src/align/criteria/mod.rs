//! Matching criteria: what makes two units similar, one file for each criterion.

use super::objective::Feature;
use super::values::Values;
use crate::error::{Error, List, Result};
use crate::posterior::Gaussian;

/// The features of one posterior whose products with those of another a symmetric criterion sums.
type Side = for<'a> fn(&'a Gaussian) -> Vec<&'a [f32]>;

/// What a criterion is made of; a symmetric one needs no more than its [`Side`].
trait Rule: Sync {
    /// The features of one posterior, if the criterion treats both sides alike; only such criteria align many posteriors.
    fn side(&self) -> Option<Side> {
        None
    }

    /// Whether the criterion looks at data; then posteriors alone have no features.
    fn needs_data(&self) -> bool {
        false
    }

    /// The features of a pair, `moved` being the posterior that is permuted.
    fn features<'a>(&self, fixed: &'a Gaussian, moved: &'a Gaussian) -> Result<Vec<Feature<'a>>> {
        let side = self.side().expect("a criterion has a side or features of its own");
        let pairs = side(fixed).into_iter().zip(side(moved));
        Ok(pairs.map(|(fixed, moved)| Feature { fixed: fixed.into(), moved: moved.into() }).collect())
    }
}

/// Defines [`Criterion`] and its modules from lines of the form `module: Variant = "name", "documentation";`.
macro_rules! criteria {
    ($($(#[$meta:meta])* $module:ident: $Variant:ident = $name:literal, $doc:literal;)+) => {
        $(mod $module;)+

        named_enum! {
            /// What makes two units similar.
            #[derive(Default)]
            #[non_exhaustive]
            pub enum Criterion {
                $(#[doc = $doc] $(#[$meta])* $Variant = $name,)+
            }
        }

        impl Criterion {
            fn rule(self) -> &'static dyn Rule {
                match self {
                    $(Self::$Variant => &$module::$Variant,)+
                }
            }
        }
    };
}

// rustfmt does not find modules that a macro declares: `rustfmt crates/onebasin/src/align/criteria/*.rs` formats them.
criteria! {
    mean: Mean = "mean", "Smallest squared distance of the mean weights.";
    #[default] w2: W2 = "w2", "Smallest Wasserstein distance of the weights: of their means and standard deviations.";
    kl: Kl = "kl", "Smallest KL divergence of the permuted posterior from the other.";
    jeffreys: Jeffreys = "jeffreys", "Smallest sum of the KL divergences in both directions.";
    snr: Snr = "snr", "Smallest squared distance of the signal-to-noise ratios of the weights.";
    mahalanobis: Mahalanobis = "mahalanobis", "Smallest Mahalanobis distance of the mean weights.";
    activation: Activation = "activation", "Largest correlation of the activations on data.";
    learned: Learned = "learned", "Smallest loss between the posteriors on data, by straight-through gradients.";
}

impl Criterion {
    /// Whether the criterion looks at data, as [`super::by_activation`] and [`super::learn`] do.
    pub fn needs_data(self) -> bool {
        self.rule().needs_data()
    }

    /// Whether the criterion treats both posteriors alike, which aligning more than two needs.
    pub fn is_symmetric(self) -> bool {
        self.rule().side().is_some()
    }

    /// The features of `fixed` and `moved`; a criterion that needs data has none.
    pub(crate) fn features<'a>(self, fixed: &'a Gaussian, moved: &'a Gaussian) -> Result<Vec<Feature<'a>>> {
        if self.needs_data() {
            return Err(Error::NeedsData { criterion: self.name(), others: names(|other| !other.needs_data()) });
        }
        self.rule().features(fixed, moved)
    }

    /// The features of one of many posteriors.
    pub(super) fn side(self, gaussian: &Gaussian) -> Result<Vec<&[f32]>> {
        let Some(side) = self.rule().side() else {
            let expected = format!("one of {} for more than two posteriors", names(Self::is_symmetric));
            return Err(Error::setting("criterion", self, &expected));
        };
        Ok(side(gaussian))
    }
}

/// One value of a feature for each weight, of its mean and its standard deviation.
fn mapped(gaussian: &Gaussian, feature: fn(f32, f32) -> f32) -> Values<'static> {
    let pairs = gaussian.mean().values().iter().zip(gaussian.std().values());
    pairs.map(|(mean, std)| feature(*mean, *std)).collect::<Vec<f32>>().into()
}

fn names(chosen: impl Fn(Criterion) -> bool) -> List {
    List(Criterion::ALL.iter().filter(|criterion| chosen(**criterion)).map(ToString::to_string).collect())
}
