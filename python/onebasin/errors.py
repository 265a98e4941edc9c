"""What can go wrong: one exception for each kind of error, all of them `OnebasinError`."""

import re


class OnebasinError(Exception):
    """Any error of onebasin."""


class InputError(OnebasinError, ValueError):
    """An argument, a setting or the contents of a file that cannot be used."""


class FileError(OnebasinError, OSError):
    """A file or folder that the operating system refuses to read or write."""


class RoomError(OnebasinError, MemoryError):
    """Work that needs more memory, or more space on a disk, than there is."""


class DivergedError(OnebasinError, ArithmeticError):
    """A training that left the finite numbers, or chains that stand still, so that there is no result."""


class FunctionChangedError(OnebasinError):
    """A permuted network computes something else, so its symmetry is wrong."""


# A flag of the command line with its value: `--format pyro:softplus` becomes `format="pyro:softplus"`.
_FLAG = re.compile(r"--([a-z][a-z-]*)(?:[ =]([A-Za-z0-9_./:*]+))?")


def make(kind, message):
    """The exception of this kind, for a message of the library, which speaks of flags of the command line."""

    def keyword(match):
        name, value = match.group(1).replace("-", "_"), match.group(2)
        return f'{name}="{value}"' if value else name

    return globals()[kind](_FLAG.sub(keyword, message))
