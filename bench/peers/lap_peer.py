"""The lap peer: linear assignment by its `lapjv`, in f64, from the folder of its own that bench/run installs it into."""

import pathlib
import sys

import assignments

if __name__ == "__main__":
    # In front of lapx, whose module has the same name.
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / ".lap"))
    import lap

    def solve(costs):
        return lap.lapjv(costs, extend_cost=costs.shape[0] != costs.shape[1], return_cost=False)[0]

    assignments.serve_solver("lap", solve)
