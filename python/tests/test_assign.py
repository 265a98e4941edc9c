"""Assignments: the cases that SciPy publishes for its own solver, duals, types, shapes, and SciPy itself where it is installed."""

import itertools

import numpy as np
import onebasin as ob
import pytest
from onebasin.assign import solve, solve_with_duals

INF = np.inf
# Costs with the cost of each row in the solution: the data of scipy/optimize/tests/test_linear_assignment.py and of the test for sparse
# graphs that it shares them with.
CASES = [
    ([[400, 150, 400], [400, 450, 600], [300, 225, 300]], [150, 400, 300]),
    ([[400, 150, 400, 1], [400, 450, 600, 2], [300, 225, 300, 3]], [150, 2, 300]),
    ([[10, 10, 8], [9, 8, 1], [9, 7, 4]], [10, 1, 7]),
    ([[10, 10, 8, 11], [9, 8, 1, 1], [9, 7, 4, 10]], [10, 1, 4]),
    ([[10, INF, INF], [INF, INF, 1], [INF, 7, INF]], [10, 1, 7]),
    ([[10, 8, 11], [9, 1, 1], [8, 1, INF]], None),
]


def brute_force(costs, maximize):
    """The best sum of all assignments."""
    costs = np.asarray(costs, float)
    if costs.shape[0] > costs.shape[1]:
        costs = costs.T
    rows = range(costs.shape[0])
    sums = [costs[rows, columns].sum() for columns in itertools.permutations(range(costs.shape[1]), costs.shape[0])]
    return max(sums) if maximize else min(sums)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("costs, of_rows", CASES)
def test_published_cases(costs, of_rows, dtype, sign, transposed):
    costs = sign * np.array(costs, dtype)
    costs = costs.T if transposed else costs
    rows, columns = solve(costs, maximize=sign == -1)
    np.testing.assert_array_equal(rows, np.sort(rows))
    assert rows.dtype == columns.dtype == np.intp
    assert len(set(columns)) == len(columns) == min(costs.shape)
    assert costs[rows, columns].sum() == brute_force(costs, sign == -1)
    if of_rows:
        np.testing.assert_array_equal(np.sort(costs[rows, columns]), np.sort(sign * np.array(of_rows)))


def test_an_empty_matrix_has_an_empty_assignment():
    for costs in ([[]], np.empty((0, 4)), np.empty((4, 0), np.float32)):
        rows, columns = solve(costs)
        assert rows.tolist() == columns.tolist() == []


def test_lists_matrices_booleans_and_whole_numbers_are_taken():
    costs = [[1, 2, 3], [4, 5, 6]]
    expected = solve(np.asarray(costs, float))
    for other in (costs, np.matrix(costs), np.asarray(costs, np.int64), np.asarray(costs, np.float16)):
        np.testing.assert_array_equal(solve(other), expected)
    np.testing.assert_array_equal(solve(np.identity(3, bool)), solve(np.identity(3)))


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda c: np.repeat(c, 2, axis=1)[:, ::2], lambda c: c[::-1][::-1]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ">f8", ">f4"])
def test_any_layout_in_memory_gives_the_same(layout, dtype):
    costs = np.random.default_rng(0).normal(size=(20, 30)).astype(dtype)
    np.testing.assert_array_equal(solve(layout(costs)), solve(costs.copy()))


def test_what_is_wrong_is_refused_with_the_exceptions_and_words_of_scipy():
    for wrong in ([1, 2, 3], 1.0, np.zeros((2, 2, 2))):
        with pytest.raises(ValueError, match="expected a matrix"):
            solve(wrong)
    for kind in (str, complex, object):
        with pytest.raises(TypeError, match="Cannot cast array data"):
            solve(np.identity(3).astype(kind))
    for value in (np.nan, -INF):
        for maximize, costs in ((False, np.diag([value, 1, 1])), (True, -np.diag([value, 1, 1]))):
            with pytest.raises(ValueError, match="contains invalid numeric entries"):
                solve(costs, maximize)
    infeasible = np.identity(3)
    infeasible[:, 0] = INF
    for costs in (infeasible, np.full((1, 3), INF), np.full((3, 3), INF), infeasible.astype(np.float32)):
        with pytest.raises(ob.InputError, match="cost matrix is infeasible"):
            solve(costs)
        with pytest.raises(ValueError, match="cost matrix is infeasible"):
            solve(-costs, maximize=True)


@pytest.mark.parametrize("shape", [(40, 40), (30, 50), (50, 30)])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_duals_prove_the_assignment_and_starts_change_no_sum(shape, maximize, dtype):
    costs = np.random.default_rng(1).normal(size=shape).astype(dtype)
    found = solve_with_duals(costs, maximize)
    exact = costs.astype(float)
    slack = exact - found.row_duals[:, None] - found.column_duals
    sign = -1 if maximize else 1
    assert (sign * slack).min() > -1e-9
    assert abs(slack[found.row_ind, found.col_ind]).max() < 1e-9
    assert found.cost == pytest.approx(exact[found.row_ind, found.col_ind].sum(), abs=1e-9)
    assert found.cost == pytest.approx(found.row_duals.sum() + found.column_duals.sum(), abs=1e-9)
    for start in (found.column_duals, np.random.default_rng(2).normal(size=shape[1]), list(found.column_duals)):
        again = solve_with_duals(costs, maximize, start=start)
        assert again.cost == pytest.approx(found.cost, abs=1e-9)


def test_starts_that_are_none_are_refused():
    for start in ([1.0], [1.0, np.nan, 1.0], [[1.0, 2.0, 3.0]]):
        with pytest.raises(ob.InputError, match="3 finite numbers"):
            solve(np.identity(3), start=start)


@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (60, 60), (30, 90), (90, 30), (200, 200)])
@pytest.mark.parametrize("forbidden", [0.0, 0.3])
def test_sums_are_those_of_scipy(shape, forbidden):
    scipy = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(3)
    for _ in range(10):
        costs = rng.integers(0, 50, size=shape).astype(float)
        costs[rng.random(shape) < forbidden] = INF
        for own, maximize in ((costs, False), (-costs, True)):
            try:
                rows, columns = scipy.linear_sum_assignment(own, maximize)
            except ValueError:
                with pytest.raises(ValueError, match="infeasible"):
                    solve(own, maximize)
                continue
            found = solve(own, maximize)
            assert own[found].sum() == own[rows, columns].sum()


def test_other_threads_run_while_a_large_one_is_solved():
    import threading
    import time

    costs = np.random.default_rng(4).random((2000, 2000))
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    solve(costs)
    end = time.monotonic()
    done.set()
    thread.join()
    assert sum(start < tick < end for tick in ticks) > 2
