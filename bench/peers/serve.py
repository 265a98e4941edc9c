"""The loop every peer runs: reads `CASE REPS` lines, answers each with the milliseconds of REPS timed calls.

One untimed call comes before them, unless the line is `CASE REPS at-once`: so begin several processes together.
"""

import argparse
import os
import sys
import time

import golden


def arguments(peer):
    """The peer's command line: `--threads N`, and `--check FILE...` instead of serving."""
    parser = argparse.ArgumentParser(description=f"times {peer} for bench/run")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--check", nargs="+", metavar="FILE", help="compare with these golden files and leave")
    return parser.parse_args()


def serve(build):
    """`build(case)` makes the call to be timed; it runs when a case is asked for the first time."""
    answers = private_stdout()
    cases = {}
    for line in sys.stdin:
        name, reps, *at_once = line.split()
        try:
            if name not in cases:
                cases[name] = build(name)
            call = cases[name]
            if not at_once:
                call()
            start = time.monotonic()  # the same clock in all processes
            times = [milliseconds(call) for _ in range(int(reps))]
            answer = f"start={start:.6f} ms=" + ",".join(f"{time:.4f}" for time in times)
        except Exception as error:  # a variant that fails must not end the others
            cases.pop(name, None)
            answer = "error=" + (" ".join(str(error).split())[:300] or type(error).__name__)
        print(answer, file=answers, flush=True)


def check(paths, differences):
    """Judges all (name, difference) of `differences(case)` for each golden file; False if one is too large."""
    agree = True
    for path in paths:
        case = golden.read(path)
        for name, difference in differences(case):
            agree &= bool(difference < golden.TOLERANCE)
            verdict = "agrees" if difference < golden.TOLERANCE else "DIFFERS"
            print(f"{case.name:25} {name:30} {verdict}: largest relative difference {difference:.1e}", flush=True)
    return agree


def milliseconds(call):
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def private_stdout():
    """Standard output for the answers alone: whatever libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers
