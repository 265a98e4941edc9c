"""What holds for all tests."""

import os

# Networks of a few units are slower on several threads of PyTorch, which wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
