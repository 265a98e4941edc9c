"""Weight matching as Git Re-Basin does it, in JAX and SciPy, with a channel for means and one for deviations."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import linear_sum_assignment

import alignment

# As in Git Re-Basin.
LEAST_GAIN = 1e-12
MOST_SWEEPS = 100


def match(axes, fixed, moved, seed=0):
    """Name of each permutation to its indices, and the number of assignments solved."""
    where = {}
    for name, names in axes.items():
        for axis, permutation in enumerate(names):
            if permutation is not None:
                where.setdefault(permutation, []).append((name, axis))
    sizes = {permutation: fixed[places[0][0]][0].shape[places[0][1]] for permutation, places in where.items()}
    orders = {permutation: jnp.arange(size) for permutation, size in sizes.items()}
    random, assignments = np.random.default_rng(seed), 0
    for _ in range(MOST_SWEEPS):
        progress = False
        for permutation in random.permutation(list(where)):
            size = sizes[permutation]
            costs = jnp.zeros((size, size))
            for name, axis in where[permutation]:
                others = tuple(i for i, named in enumerate(axes[name]) if i != axis and named is not None)
                others_orders = [orders[axes[name][other]] for other in others]
                for a, b in zip(fixed[name], moved[name]):
                    costs += similarity(axis, others)(a, b, others_orders)
            _, columns = linear_sum_assignment(np.asarray(costs), maximize=True)
            assignments += 1
            old = jnp.vdot(costs, jnp.eye(size)[orders[permutation]])
            new = jnp.vdot(costs, jnp.eye(size)[columns])
            progress |= bool(new > old + LEAST_GAIN)
            orders[permutation] = jnp.asarray(columns)
        if not progress:
            break
    return orders, assignments


@functools.cache
def similarity(axis, others):
    """A compiled function: the products of the units on `axis` of one side with those of the other, permuted on `others`."""

    def run(a, b, orders):
        for other, order in zip(others, orders):
            b = jnp.take(b, order, axis=other)
        rows = [jnp.moveaxis(side, axis, 0).reshape(side.shape[axis], -1) for side in (a, b)]
        return rows[0] @ rows[1].T

    return jax.jit(run)


@functools.lru_cache(maxsize=1)
def problem(network):
    """Only of the last network, because the largest have gigabytes."""
    preset = alignment.preset(network)
    sides = [
        {name: [jnp.asarray(part) for part in parts] for name, parts in alignment.posterior(preset, seed).items()}
        for seed in (1, 2)
    ]
    return alignment.spec(preset), *sides


def case(network):
    return lambda: match(*problem(network))
