//! `--quiet`, `--verbose`, the version with its details, manual pages, and the help of keys.

use crate::harness::Place;

#[test]
fn quiet_prints_results_and_errors_only() {
    let place = Place::with_posteriors();
    for line in
        ["align a b -o aligned", "barrier a b --samples 2 --points 3 -o barrier", "train vi.toml --set seed=1 -o a"]
    {
        let usual = place.succeeds(line);
        assert!(!usual.stderr.is_empty(), "{line}");
        let quiet = place.succeeds(&format!("{line} --quiet"));
        assert_eq!((&*quiet.stderr, quiet.stdout), ("", usual.stdout), "{line}");
    }
    assert!(place.refused("-q align a nothing -o x").contains("nothing"));
    assert!(place.refused("-q -v align a b -o x").contains("cannot be used with"));
}

#[test]
fn verbose_names_the_machine_and_the_time_of_each_task() {
    let place = Place::with_posteriors();
    let said = place.succeeds("barrier a b --samples 2 --points 3 --threads 1 --verbose").stderr;
    assert!(said.contains("1 threads, ") || said.contains("1 thread, "), "{said}");
    assert!(said.contains("data in ") && said.contains(" seconds"), "{said}");
}

#[test]
fn the_version_has_details() {
    let place = Place::new();
    let short = place.succeeds("--version").stdout;
    assert_eq!(short, format!("onebasin {}\n", env!("CARGO_PKG_VERSION")));
    let long = place.succeeds("--version --verbose").stdout;
    for part in [&*short, "\ncommit: ", "\nfeatures: ", "\ninstruction set: ", "\nthreads: "] {
        assert!(long.contains(part.trim_end()), "{part} is not in {long}");
    }
    assert_eq!(place.succeeds("-v -V").stdout, long);
}

#[test]
fn every_command_has_a_manual_page() {
    let place = Place::new();
    place.succeeds("man -o pages/man1");
    for page in ["onebasin.1", "onebasin-train.1", "onebasin-data-get.1", "onebasin-show.1"] {
        assert!(place.read(&format!("pages/man1/{page}")).contains(".TH onebasin"), "{page}");
    }
    assert!(place.succeeds("man").stdout.contains(".SH NAME"));
}

#[test]
fn help_prints_keys_and_commands() {
    let place = Place::new();
    let all = place.succeeds("help keys").stdout;
    assert!(
        all.contains("===== A training =====") && all.contains("  barrier.points: whole number, default 25\n"),
        "{all}"
    );
    let some = place.succeeds("help keys barrier").stdout;
    assert!(some.contains("barrier.points") && !some.contains("infer."), "{some}");
    assert!(place.refused("help keys barier.pointz").contains("there is no key `barier.pointz`"));
    assert_eq!(place.succeeds("help data get").stdout, place.succeeds("data get --help").stdout);
    assert!(place.refused("help nothing").contains("`onebasin` has no command `nothing`"));
}
