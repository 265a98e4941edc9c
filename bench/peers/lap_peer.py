"""The lap peer: linear assignment by `lapjv`, in f64, of the package lapx, which has taken lap's code over."""

import lap

import assignments

if __name__ == "__main__":
    assignments.serve_solver("lap", lambda costs: lap.lapjv(costs, extend_cost=False, return_cost=False)[0])
