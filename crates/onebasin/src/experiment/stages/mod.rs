//! The stages: each one file or folder with its settings, its run and its result, and one line in the list below.

pub mod align_network;
pub mod barrier_network;
pub mod compact_network;
pub mod decomposition;
pub mod over_pairs;
mod network_inputs;
mod pairs;
pub mod plane_network;
pub mod train;

pub use align::Known;
pub use network_inputs::NetworkInputs;
pub use pairs::PairInputs;

use super::plan::Section;
use schemars::JsonSchema;
use serde::Deserialize;

/// Declares the module of each stage, and the table that asks for it in an experiment.
macro_rules! stages {
    ($($(#[doc = $doc:literal])* $name:ident: $settings:ident,)*) => {
        $(pub mod $name;)*

        /// The tables of an experiment that ask for stages, by their names.
        #[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Sections {
            $($(#[doc = $doc])* pub $name: Option<$name::$settings>,)*
        }

        impl Sections {
            /// Names of all tables.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// The tables that are there, with their names.
            pub fn all(&self) -> Vec<(&'static str, &dyn Section)> {
                let mut all: Vec<(&'static str, &dyn Section)> = Vec::new();
                $(all.extend(self.$name.as_ref().map(|settings| (stringify!($name), settings as &dyn Section)));)*
                all
            }
        }
    };
}

// rustfmt does not find modules that a macro declares; `.ci/run` formats them by their names.
stages! {
    /// Alignment of posteriors.
    align: AlignSettings,
    /// Loss and error barriers between two posteriors.
    barrier: BarrierSettings,
    /// The plane through two posteriors and the second one aligned.
    plane: PlaneSettings,
    /// One Gaussian in the place of samples.
    compact: CompactSettings,
    /// The number of transpositions between networks.
    transpositions: TranspositionsSettings,
    /// Alignment problems whose solution is known.
    planted: PlantedSettings,
    /// Two posteriors of two weights that can be swapped.
    swap: SwapSettings,
}
