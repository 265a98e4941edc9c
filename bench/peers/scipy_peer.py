"""The SciPy peer: linear assignment. It computes in f64, so that is what it is given."""

from scipy.optimize import linear_sum_assignment

import assignments

if __name__ == "__main__":
    assignments.serve_solver("SciPy", lambda costs: linear_sum_assignment(costs)[1])
