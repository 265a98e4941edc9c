"""The algebra of permutations against NumPy's indexing, random ones, and their files."""

import json

import numpy as np
import onebasin as ob
import pytest
from onebasin import permutations as perms

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("units", [0, 1, 2, 17, 100])
def test_composition_and_inverse_are_those_of_indexing(units):
    values = RNG.normal(size=units)
    first, second = RNG.permutation(units), RNG.permutation(units)
    np.testing.assert_array_equal(values[perms.compose(first, second)], values[first][second])
    np.testing.assert_array_equal(values[first][perms.invert(first)], values)
    np.testing.assert_array_equal(perms.compose(first, perms.invert(first)), perms.identity(units))


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda order: np.array(order, np.int32)[::1]])
def test_every_kind_of_sequence_is_taken(kind):
    assert perms.invert(kind([1, 2, 0])).tolist() == [2, 0, 1]
    assert perms.transpositions(kind([1, 2, 0])) == 2


def test_transpositions_are_units_less_cycles_and_swaps_reach_them():
    order = RNG.permutation(60)
    cycles = perms.cycles(order)
    assert sorted(sum(cycles, [])) == list(range(60))
    for cycle in cycles:
        assert [order[unit] for unit in cycle] == cycle[1:] + cycle[:1]
    assert perms.transpositions(order) == 60 - len(cycles)
    swapped = np.arange(60)
    for i, j in [(3, 9), (9, 20), (1, 2)]:
        swapped[[i, j]] = swapped[[j, i]]
    assert perms.transpositions(swapped) == 3


@pytest.mark.parametrize("wanted", [0, 1, 20, 49])
def test_random_permutations_have_the_transpositions_that_were_asked_for(wanted):
    for seed in range(5):
        assert perms.transpositions(perms.random(50, transpositions=wanted, seed=seed)) == wanted


def test_random_permutations_depend_on_the_seed_and_on_the_group():
    assert perms.random(30).tolist() == perms.random(30).tolist() != perms.random(30, seed=1).tolist()
    found = perms.random({"first": 30, "second": 30})
    assert found["first"].tolist() != found["second"].tolist()
    counted = perms.random({"first": 30, "second": 30}, transpositions={"first": 4, "second": 5})
    assert perms.transpositions(counted) == {"first": 4, "second": 5}


def test_random_permutations_are_uniform():
    counts = {}
    for seed in range(1200):
        order = tuple(perms.random(3, seed=seed).tolist())
        counts[order] = counts.get(order, 0) + 1
    # Six orders, 200 of each expected, with a standard deviation of 13.
    assert len(counts) == 6 and all(130 < count < 270 for count in counts.values())


def test_dicts_are_taken_by_their_groups():
    p, q = {"a": [1, 0], "b": [0, 2, 1]}, {"a": [1, 0], "b": [1, 0, 2]}
    assert {group: order.tolist() for group, order in perms.compose(p, q).items()} == {"a": [0, 1], "b": [2, 0, 1]}
    assert perms.cycles(p) == {"a": [[0, 1]], "b": [[0], [1, 2]]}
    assert perms.is_permutation(p) and not perms.is_permutation({**p, "b": [0, 0, 1]})
    with pytest.raises(ob.InputError, match="`b`: 0 at place 1 is there twice"):
        perms.check({**p, "b": [0, 0, 1]})
    with pytest.raises(ob.InputError, match="different groups; only one has: b"):
        perms.compose(p, {"a": [0, 1]})


@pytest.mark.parametrize(
    "order, fault",
    [
        ([0, 3, 1], "3 at place 1 is too large"),
        ([0, -1, 1], "-1 at place 1 is negative"),
        ([0, 2, 2], "2 at place 2 is there twice"),
        ([0.0, 1.0], "whole numbers, not of float64"),
        ([[0, 1]], "not an array of 2 axes"),
        ([True, False], "not of bool"),
        ([2**40, 0], "too large"),
    ],
)
def test_what_is_no_permutation_is_refused_with_the_reason(order, fault):
    assert not perms.is_permutation(order)
    for function in (perms.invert, perms.transpositions, perms.cycles, perms.check):
        with pytest.raises(ob.InputError, match=fault):
            function(order)


def test_wrong_numbers_are_refused():
    with pytest.raises(ob.InputError, match="number of transpositions"):
        perms.random(5, transpositions=5)
    with pytest.raises(ob.InputError, match="-1 transpositions"):
        perms.random(5, transpositions=-1)
    with pytest.raises(ob.InputError, match="-1 units"):
        perms.identity(-1)
    with pytest.raises(ob.InputError, match="3 and 2 units"):
        perms.compose([0, 1, 2], [0, 1])


def test_files_are_those_of_an_alignment(tmp_path):
    orders = {"fc1": np.array([2, 0, 1]), "fc2": [1, 0]}
    perms.save(tmp_path / "p.json", orders)
    assert (tmp_path / "p.json").read_text() == '{"fc1":[2,0,1],"fc2":[1,0]}\n'
    found = perms.load(tmp_path / "p.json")
    assert list(found) == ["fc1", "fc2"] and found["fc1"].tolist() == [2, 0, 1]
    perms.save(tmp_path / "p.jsonl", [orders, orders])
    assert len(perms.load(tmp_path / "p.jsonl")) == 2


def test_wrong_files_are_refused_and_nothing_is_written_of_wrong_permutations(tmp_path):
    with pytest.raises(ob.FileError, match="none.json"):
        perms.load(tmp_path / "none.json")
    for text, fault in [("[1]", "an object"), ("{", "not a file of permutations"), (json.dumps({"a": [0, 0]}), "`a`: 0 at")]:
        (tmp_path / "wrong.json").write_text(text)
        with pytest.raises(ob.InputError, match=fault):
            perms.load(tmp_path / "wrong.json")
    with pytest.raises(ob.InputError, match="there twice"):
        perms.save(tmp_path / "new.json", {"a": [0, 0]})
    assert not (tmp_path / "new.json").exists()
    with pytest.raises(ob.InputError, match="jsonl"):
        perms.save(tmp_path / "new.json", [{"a": [0]}])
