//! Permutations survive JSON, and whatever else a file may hold is refused with a clear message.

use crate::networks::mlp;
use onebasin::arch::Activation;
use onebasin::symmetry::{Permutation, Permutations, Spec};
use proptest::prelude::*;

fn spec(hidden: &[usize]) -> Spec {
    Spec::of(&mlp(hidden, Activation::Relu))
}

fn refused(text: &str) -> String {
    Permutations::from_json(&spec(&[3, 2]), text).unwrap_err().to_string()
}

proptest! {
    #[test]
    fn what_is_written_is_read(first in 1..30usize, second in 1..30usize, seed: u64) {
        let spec = spec(&[first, second]);
        let permutations = Permutations::random(&spec, seed);
        prop_assert_eq!(Permutations::from_json(&spec, &permutations.to_json()).unwrap(), permutations);
    }

    #[test]
    fn nothing_else_is_believed(text in r#"\{?("hidden[1-3]"?:? ?\[?([0-9.,-]{0,9})\]?,?){0,3}\}?"#) {
        let spec = spec(&[3, 2]);
        if let Ok(read) = Permutations::from_json(&spec, &text) {
            prop_assert_eq!(Permutations::from_json(&spec, &read.to_json()).unwrap(), read);
        }
    }
}

#[test]
fn names_come_in_the_order_of_the_groups() {
    let mut permutations = Permutations::identity(&spec(&[3, 2]));
    permutations.set(0, Permutation::new(vec![1, 2, 0]).unwrap());
    assert_eq!(permutations.to_json(), r#"{"hidden1":[1,2,0],"hidden2":[0,1]}"#);
    let other_order = r#" {"hidden2": [0, 1], "hidden1": [1, 2, 0]} "#;
    assert_eq!(Permutations::from_json(&spec(&[3, 2]), other_order).unwrap(), permutations);
    assert_eq!(Permutations::from_json(&spec(&[]), "{}").unwrap().as_slice(), []);
}

#[test]
fn whatever_else_is_refused() {
    for (text, said) in [
        (r#"{"hidden1":[1,2,0]}"#, "`hidden2` is missing"),
        (r#"{"hidden1":[1,0],"hidden2":[0,1]}"#, "`hidden1` has 3 units, its permutation 2"),
        (
            r#"{"hidden1":[1,2,3],"hidden2":[0,1]}"#,
            "`hidden1`: 3 at place 2 is too large: not a permutation of 3 units",
        ),
        (r#"{"hidden1":[1,2,1],"hidden2":[0,1]}"#, "`hidden1`: 1 at place 2 is there twice"),
        (r#"{"hidden1":[1,2,0],"hidden3":[0,1]}"#, "there is no group `hidden3`; there are: hidden1, hidden2"),
        (r#"{"hidden1":[1,2,0],"hidden1":[1,2,0],"hidden2":[0,1]}"#, "`hidden1` is there twice"),
        (r#"{"hidden1":[1,2,-1],"hidden2":[0,1]}"#, "it has -1 where a whole number"),
        (r#"{"hidden1":[1,2,4294967296],"hidden2":[0,1]}"#, "it has 4294967296 where a whole number"),
        (r#"{"hidden1":[1,2,0.5],"hidden2":[0,1]}"#, "it has 0.5 where a whole number"),
        (r#"{"hidden1":"012","hidden2":[0,1]}"#, "where a list is needed"),
        ("[[1,2,0],[0,1]]", "an object"),
        ("", "EOF"),
        (r#"{"hidden1":[1,2,0],"hidden2":[0,1]} x"#, "trailing characters"),
    ] {
        let message = refused(text);
        assert!(message.contains(said), "{text}: {message}");
    }
}

#[test]
fn permutations_of_another_network_are_refused() {
    let (ours, theirs) = (spec(&[3, 2]), spec(&[3, 4]));
    let params = onebasin::params::Params::zeros(ours.layout());
    let error = ours.apply(&Permutations::random(&theirs, 1), &params).unwrap_err().to_string();
    assert!(error.ends_with("they are of hidden1 (3), hidden2 (4), not of hidden1 (3), hidden2 (2)"), "{error}");
    let error = ours.apply(&Permutations::random(&ours, 1), &onebasin::params::Params::zeros(theirs.layout()));
    assert!(error.unwrap_err().to_string().contains("`hidden2.weight`"));
    let error = Permutations::new(&ours, vec![Permutation::identity(3)]).unwrap_err().to_string();
    assert!(error.ends_with("1 where 2 groups need one each"), "{error}");
    let error = ours.group("head").unwrap_err().to_string();
    assert_eq!(error, "there is no group `head`; there are: hidden1, hidden2");
}
