//! Writes the page of the tests in every format into a folder.

#[path = "../tests/sample/mod.rs"]
mod sample;

use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("name a folder")?);
    std::fs::create_dir_all(&folder)?;
    let page = sample::page();
    std::fs::write(folder.join("index.html"), page.html())?;
    std::fs::write(folder.join("README.md"), page.markdown(""))?;
    for figure in page.figures() {
        let file = |extension: &str| folder.join(format!("{}.{extension}", figure.id));
        std::fs::write(file("svg"), figure.svg())?;
        std::fs::write(file("png"), figure.png(1280)?)?;
        std::fs::write(file("csv"), figure.csv())?;
        std::fs::write(file("txt"), figure.text(60, 14))?;
    }
    Ok(())
}
