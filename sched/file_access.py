"""May a file named by the user be opened, without waiting for ever? And if it cannot be written, why not?"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from sched.errors import InputError

SHELLS_OWN = ("/dev/fd/", "/proc/")  # where a shell's pipes are: <(command), /dev/stdin
TERMINALS = ("/dev/tty", "/dev/pts/")


def refuse_special(path: str | Path, limit: str) -> None:
    """Refuse to read what might never end: a named pipe on disk, a device. Raises InputError.

    A pipe of the shell has its writer already and may be read; opening a named one waits until somebody writes to it.
    """
    kind = _special(path)
    if kind:
        raise InputError("unreadable_file", where=str(path), value=f"it is {kind}, no regular file", limit=limit)


def refuse_unwritable(path: str | Path, folder: bool = False) -> None:
    """Refuse, before any work is done, an output that cannot be written. Raises InputError saying why.

    folder: the output is a directory, which is made if it does not exist.
    """
    why = _why_no_folder(str(path)) if folder else _why_no_file(str(path))
    if why:
        raise InputError("unwritable_file", where=str(path), value=why[0], limit=why[1])


def cannot_write(path: str | Path, error: OSError) -> InputError:
    """What to say when writing has failed in a way that could not be foreseen."""
    return InputError("unwritable_file", where=str(path), value=error.strerror or error, limit="name another place")


def _special(path: str | Path) -> str:
    real = os.path.realpath(path)
    try:
        mode = os.stat(real).st_mode
    except (OSError, ValueError):
        return ""  # opening it will say what is wrong
    if stat.S_ISFIFO(mode) and not real.startswith(SHELLS_OWN):
        return "a named pipe"
    is_device = stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
    return "a device" if is_device and not real.startswith(TERMINALS) else ""


def _why_no_file(path: str) -> tuple[str, str] | None:
    """What stands in the way of writing a file, and what to do; None if nothing is known to."""
    folder = os.path.dirname(path) or "."
    if not path:
        return "the name is empty", "name a file"
    if os.path.isdir(path):
        return "it is a directory", "name a file in it"
    if os.path.exists(folder) and not os.path.isdir(folder):
        return f"{folder} is a file", "name a directory before the file's name"
    if not os.path.isdir(folder):
        return f"the directory {folder} does not exist", "make it first, or name another"
    if _special(path) == "a named pipe":
        return "it is a named pipe, no regular file", "name a file"
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        what = "the file" if os.path.exists(path) else f"the directory {folder}"
        return f"{what} is not writable for you", "name another place"
    return None


def _why_no_folder(path: str) -> tuple[str, str] | None:
    """The same of a directory, which may be yet to be made."""
    if not path:
        return "the name is empty", "name a directory, or a FILE.json"
    there = next((str(place) for place in (Path(path), *Path(path).parents) if os.path.exists(place)), ".")
    if not os.path.isdir(there):
        return f"{there} is a file", "name a directory, or a FILE.json"
    if not os.access(there, os.W_OK):
        return f"the directory {there} is not writable for you", "name another"
    return None
