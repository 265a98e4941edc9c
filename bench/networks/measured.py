"""Runs a command and measures it: `measured.py FILE COMMAND...` writes seconds, megabytes at the peak and the exit code into FILE.

A process of its own, because Linux counts the memory of whoever started a program as the program's.
"""

import json
import os
import signal
import subprocess
import sys
import time


def run(command, python=sys.executable, limit=None):
    """The same from another program, with what the command printed. A command that takes more than `limit` seconds is ended."""
    import tempfile

    with tempfile.NamedTemporaryFile() as file, tempfile.TemporaryFile() as log:
        launcher = [python, "-I", "-S", __file__, file.name, *map(str, command)]
        process = subprocess.Popen(launcher, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.seek(0)
        text = log.read().decode(errors="replace")
        return json.loads(file.read() or '{"code": -1, "seconds": 0, "megabytes": 0}') | {"text": text}


if __name__ == "__main__":
    start = time.monotonic()
    process = subprocess.Popen(sys.argv[2:])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    answer = {"seconds": time.monotonic() - start, "megabytes": usage.ru_maxrss / 1024, "code": process.returncode}
    with open(sys.argv[1], "w") as file:
        json.dump(answer, file)
