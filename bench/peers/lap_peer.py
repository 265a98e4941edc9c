"""The lap peer: linear assignment by `lapjv`, in f64, as lapx has it: the package lap itself is not timed."""

import lap

import assignments

if __name__ == "__main__":
    assignments.serve_solver("lap", lambda costs: lap.lapjv(costs, extend_cost=False, return_cost=False)[0])
