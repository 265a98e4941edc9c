"""Exact linear assignment: `solve` takes the place of `scipy.optimize.linear_sum_assignment`."""

import dataclasses

import numpy as np

from . import _lib
from .errors import InputError


@dataclasses.dataclass(frozen=True)
class Assignment:
    """What `solve_with_duals` found: row `row_ind[k]` is given column `col_ind[k]`, at a total of `cost`.

    The duals prove it: `row_duals[i] + column_duals[j] <= cost[i, j]` everywhere (the other way round to maximise), and their sum is the
    total. Where there are more columns than rows, `column_duals <= 0`, and 0 for columns without a row; likewise for rows.
    """

    row_ind: np.ndarray
    col_ind: np.ndarray
    cost: float
    row_duals: np.ndarray
    column_duals: np.ndarray


def solve(cost_matrix, maximize=False, *, start=None):
    """The pairs of rows and columns with the smallest sum of costs, or the largest: `(row_ind, col_ind)`, sorted by rows.

    Arguments, results and errors are those of `scipy.optimize.linear_sum_assignment`; of several solutions with the same sum it may find
    another one. A matrix of float32 or float64 that is C-contiguous is not copied; a cost of infinity, or minus infinity to maximise,
    forbids its pair. `start` may be the `column_duals` of the solution for similar costs, which makes it faster and changes no sum.

    >>> rows, columns = solve([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    >>> rows, columns
    (array([0, 1, 2]), array([1, 0, 2]))
    """
    row_ind, col_ind, *_ = _solved(cost_matrix, maximize, start)
    return row_ind, col_ind


def solve_with_duals(cost_matrix, maximize=False, *, start=None):
    """The same with the sum and the duals that prove it, as an `Assignment`.

    >>> found = solve_with_duals([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    >>> found.cost, float(found.row_duals.sum() + found.column_duals.sum())
    (5.0, 5.0)
    """
    return Assignment(*_solved(cost_matrix, maximize, start))


def _solved(cost_matrix, maximize, start):
    costs = np.asarray(cost_matrix)
    if costs.ndim != 2:
        raise InputError(f"expected a matrix (2-D array), got a {costs.ndim}-D array")
    if not np.can_cast(costs.dtype, np.float64):
        raise TypeError(f"Cannot cast array data from {costs.dtype!r} to dtype('float64') according to the rule 'safe'")
    costs = np.ascontiguousarray(costs, np.float32 if costs.dtype == np.float32 else np.float64)
    if start is not None:
        start = np.ascontiguousarray(start, np.float64)
        if start.shape != costs.shape[1:] or not np.isfinite(start).all():
            raise InputError(f"`start` must be {costs.shape[1]} finite numbers, a dual for each column")
    return _lib.assign(costs.reshape(-1), *costs.shape, bool(maximize), start)
