"""The command `onebasin`, as the wheel installs it and as `python -m onebasin`."""

import signal
import sys

from . import _lib


def main():
    """Runs the command with the arguments of this process, and exits with its status."""
    # The command listens itself, and leaves a run that it can continue.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_lib.main(["onebasin", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
