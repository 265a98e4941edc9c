//! Says which units of an ONNX file can be permuted: `cargo run --example onnx -- net.onnx`, with `--dim NAME=N` for sizes that are not fixed.
#![allow(clippy::print_stdout)] // a program for the terminal

use onebasin_graph::onnx::{Network, Options};
use onebasin_graph::symmetry::Symmetry;
use onebasin_graph::{Error, Op};

fn main() -> Result<(), Error> {
    let mut options = Options::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--dim" {
            let dim = arguments.next().unwrap_or_default();
            let (name, size) = dim.split_once('=').ok_or_else(|| Error::new(&dim, "should be NAME=N"))?;
            let size = size.parse().map_err(|_| Error::new(&dim, "should be NAME=N"))?;
            options.dims.insert(name.to_owned(), size);
            continue;
        }
        let network = Network::open(argument.as_ref(), &options)?;
        let symmetry = Symmetry::of(&network.graph);
        println!("# {argument}: {} groups, share {:.3}", symmetry.groups.len(), symmetry.share());
        for node in network.graph.nodes().iter().filter(|node| node.op == Op::Opaque) {
            println!("# nothing is known of {}", node.name);
        }
        for name in network.made_up_names() {
            println!("# the exporter named {name}");
        }
        println!("{}", symmetry.to_toml());
    }
    Ok(())
}
