//! One target for each parser of files that strangers wrote, and the files that its inputs begin with.

mod folder;
mod seeds;

pub use seeds::Seed;

/// A parser, and what must hold of everything that it reads.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Reads any bytes; panics if what must hold does not.
    pub run: fn(&[u8]),
    /// Makes the first inputs.
    seeds: fn() -> Vec<Seed>,
}

impl Target {
    /// Returns the first inputs: the files of `fuzz/seeds/NAME/`, and those that the target makes of the files of tests.
    pub fn seeds(&self) -> Vec<Seed> {
        let mut all = seeds::committed(self.name);
        all.extend((self.seeds)());
        all
    }
}

/// Declares the module of each target, and lists them.
macro_rules! targets {
    ($($name:ident)*) => {
        mod targets {
            $(pub(crate) mod $name;)*
        }

        /// All targets.
        pub static TARGETS: &[Target] =
            &[$(Target { name: stringify!($name), run: targets::$name::run, seeds: targets::$name::seeds }),*];
    };
}

targets! { archive arrays checkpoint config dataset events onnx permutations posterior pt2 report samples state symmetry }

/// Finds the target of this name.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
