//! Says what is read of `.pt2` files, and which of their units can be permuted: `cargo run --example pt2 -- net.pt2`.
#![allow(clippy::print_stdout)] // a program for the terminal

use onebasin_graph::{pt2, symmetry::Symmetry};

fn main() {
    let mut failures = 0;
    let verbose = std::env::var_os("VERBOSE").is_some();
    for path in std::env::args().skip(1) {
        match pt2::read(path.as_ref()) {
            Ok(network) => {
                let symmetry = Symmetry::of(&network.graph);
                println!(
                    "{path}: {} nodes, {} tensors, {} aliases, {} unread, {} untranslated, {} groups, share {:.3}",
                    network.graph.nodes().len(),
                    network.graph.tensors().count(),
                    network.aliases.len(),
                    network.unread.len(),
                    network.untranslated.len(),
                    symmetry.groups.len(),
                    symmetry.share()
                );
                for opaque in &network.untranslated {
                    println!("    {}: {}", opaque.place, opaque.reason);
                }
                if verbose {
                    println!("{}", symmetry.to_toml());
                }
            }
            Err(error) => {
                failures += 1;
                println!("{error}");
            }
        }
    }
    assert_eq!(failures, 0, "files could not be read");
}
