"""The lapx peer: linear assignment by its fastest exact solver of those tried (lapjv, lapjvx, lapjvc, lapjvs), in f32.

Its module has the name of the package lap's, which its own peer takes from another folder.
"""

import lap
import numpy as np

import assignments

if __name__ == "__main__":

    def solve(costs):
        extend = costs.shape[0] != costs.shape[1]
        return lap.lapjvs(costs, extend_cost=extend, return_cost=False, jvx_like=False)[0]

    assignments.serve_solver("lapx", solve, np.float32)
