//! The page of one experiment, or of several, one behind the other.

use super::Results;
use super::alignments;
use super::sections;
use super::sweep;
use anyhow::Context;
use onebasin_report::Alignment::Left;
use onebasin_report::Alignment::Right;
use onebasin_report::Block;
use onebasin_report::Headline;
use onebasin_report::Page;
use onebasin_report::Section;
use onebasin_report::Table;
use serde_json::Value;

/// Makes the page.
pub(super) fn of(results: &[Results]) -> anyhow::Result<Page> {
    let alone = results.len() == 1;
    let mut page = Page {
        title: "Results of onebasin".to_owned(),
        summary: "Each section is an experiment, made by the command that stands in it.".to_owned(),
        headlines: Vec::new(),
        sections: Vec::new(),
        provenance: Vec::new(),
    };
    if let [Results { measures, .. }] = results {
        page.title.clone_from(&measures.title);
        measures.about.trim().clone_into(&mut page.summary);
    }
    for (index, result) in results.iter().enumerate() {
        let mut name = result.measures.name.clone();
        if results[..index].iter().any(|other| other.measures.name == name) {
            name = format!("{name}-{}", index + 1);
        }
        let prefix = if alone { String::new() } else { format!("{name}-") };
        let parts = parts(result, &prefix).with_context(|| result.folder.display().to_string())?;
        if alone {
            page.headlines = parts.headlines;
            page.sections = parts.sections;
        } else {
            page.sections.push(joined(result, &name, parts));
        }
        page.provenance.extend(provenance(result, &name, alone)?);
    }
    // They become names of files, and whoever wrote the measures may have written anything.
    for section in &mut page.sections {
        for block in &mut section.blocks {
            match block {
                Block::Figure(figure) => figure.id = file_name(&figure.id),
                Block::Table { id, .. } => *id = file_name(id),
                Block::Text(_) | Block::Code(_) => {}
            }
        }
    }
    Ok(page)
}

/// Letters, digits and what joins them.
fn file_name(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect()
}

/// The tables of the page as comma-separated values, by their names.
pub(super) fn tables(page: &Page) -> Vec<(&str, String)> {
    let blocks = page.sections.iter().flat_map(|section| &section.blocks);
    blocks
        .filter_map(|block| if let Block::Table { id, table, .. } = block { Some((&**id, table.csv())) } else { None })
        .collect()
}

/// What an experiment has to show.
pub(super) struct Parts {
    pub(super) headlines: Vec<Headline>,
    pub(super) sections: Vec<Section>,
}

fn parts(results: &Results, prefix: &str) -> anyhow::Result<Parts> {
    let mut parts = Parts { headlines: Vec::new(), sections: Vec::new() };
    if let [cell] = &results.measures.cells[..] {
        sections::of(cell, prefix, &mut parts)?;
    } else {
        sweep::of(results, prefix, &mut parts)?;
    }
    alignments::of(results, prefix, &mut parts)?;
    parts.sections.extend(posteriors(results, prefix));
    Ok(parts)
}

/// All of an experiment as one section among others.
fn joined(results: &Results, name: &str, parts: Parts) -> Section {
    let mut blocks = vec![Block::Text(results.measures.about.trim().to_owned()), Block::Code(command(results))];
    if !parts.headlines.is_empty() {
        let mut table = Table::new([("headline", Left), ("value", Right), ("of", Left)]);
        parts.headlines.into_iter().for_each(|Headline { label, value, note }| table.push([label, value, note]));
        blocks.push(Block::Table { id: format!("{name}-headlines"), caption: "In short".to_owned(), table });
    }
    blocks.extend(parts.sections.into_iter().flat_map(|section| section.blocks));
    Section { id: name.to_owned(), title: results.measures.title.clone(), blocks }
}

/// What makes these results again.
fn command(results: &Results) -> String {
    let total: f64 =
        results.times.seconds.iter().filter(|(place, _)| !place.ends_with("/seconds")).map(|(_, time)| time).sum();
    let time =
        if total > 0.0 { format!("  # {} of work, summed over all jobs", duration(total)) } else { String::new() };
    let set = results.measures.overrides.iter().fold(String::new(), |all, setting| format!("{all} --set '{setting}'"));
    format!("onebasin run experiments/{}.toml{set}{time}", results.measures.name)
}

/// Seconds of work, as people say them.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        short if short < 1.0 => format!("{:.0} ms", 1000.0 * short),
        few if few < 120.0 => format!("{few:.1} s"),
        many if many < 7200.0 => format!("{:.0} min", many / 60.0),
        hours => format!("{:.1} h", hours / 3600.0),
    }
}

/// What was trained, and what it is worth.
fn posteriors(results: &Results, prefix: &str) -> Option<Section> {
    let columns = ["seed", "parameters", "test error, %", "test NLL", "trained in"].map(|title| (title, Right));
    let mut table = Table::new(std::iter::once(("posterior", Left)).chain(columns));
    let mut seen: Vec<&str> = Vec::new();
    for posterior in results.measures.cells.iter().flat_map(|cell| &cell.posteriors) {
        if seen.contains(&posterior.id.as_str()) {
            continue;
        }
        seen.push(&posterior.id);
        let number = |key: &str| posterior.result["test"][key].as_f64().unwrap_or(f64::NAN);
        let seconds = results.times.seconds.get(&format!("posteriors/{}", posterior.id));
        table.push([
            posterior.id.clone(),
            posterior.seed.to_string(),
            posterior.parameters.to_string(),
            format!("{:.2}", 100.0 * number("error")),
            format!("{:.4}", number("nll")),
            seconds.map_or_else(|| "-".to_owned(), |seconds| duration(*seconds)),
        ]);
    }
    let block = Block::Table { id: format!("{prefix}posteriors"), caption: "What was trained".to_owned(), table };
    let section = Section { id: format!("{prefix}trained"), title: "Posteriors".to_owned(), blocks: vec![block] };
    (!seen.is_empty()).then_some(section)
}

/// Where the numbers come from; in short, if there are others beside them.
fn provenance(results: &Results, name: &str, alone: bool) -> anyhow::Result<Vec<(String, String)>> {
    let measures = &results.measures;
    if !alone {
        return Ok(vec![(name.to_owned(), format!("onebasin {}; {}", measures.version, results.times.machine))]);
    }
    let table: toml::Table = serde_json::from_value(without_null(measures.experiment.clone()))?;
    let mut all = vec![
        ("version".to_owned(), format!("onebasin {}", measures.version)),
        ("machine".to_owned(), results.times.machine.clone()),
        ("experiment".to_owned(), toml::to_string(&table)?),
    ];
    all.extend(measures.data.iter().map(|(file, sum)| (file.clone(), format!("SHA-256 {sum}"))));
    let seconds = results.times.seconds.iter().filter(|(place, _)| !place.ends_with("/seconds"));
    all.extend(seconds.map(|(place, seconds)| (place.clone(), duration(*seconds))));
    Ok(all)
}

/// TOML has no null; nothing is there instead.
fn without_null(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(fields.map(|(key, value)| (key, without_null(value))).collect())
        }
        Value::Array(values) => {
            Value::Array(values.into_iter().filter(|value| !value.is_null()).map(without_null).collect())
        }
        other => other,
    }
}
