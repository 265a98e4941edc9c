//! Writes the first inputs of a target to a folder: `cargo run --example seeds TARGET FOLDER`; without arguments, lists all targets.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [name, folder] = &arguments[..] else {
        onebasin_fuzz::TARGETS.iter().for_each(|target| println!("{}", target.name));
        return;
    };
    let target = onebasin_fuzz::find(name).unwrap_or_else(|| panic!("there is no target `{name}`"));
    let folder = PathBuf::from(folder);
    fs::create_dir_all(&folder).expect("the folder can be made");
    for seed in target.seeds() {
        fs::write(folder.join(&seed.name), &seed.bytes).expect("a seed can be written");
    }
}
