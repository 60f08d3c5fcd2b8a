"""The command ``hoodoo``. Its libraries are imported when it runs."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Sequence

from hoodoo.errors import HoodooError

# Faults of the machine and of what is given, and none of Hoodoo's; what to do about each.
_FIXES = {
    **dict.fromkeys(
        (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS),
        "Make room, or write elsewhere.",
    ),
    **dict.fromkeys(
        (errno.ENOENT, errno.ENOTDIR), "Create the directory, or give a path that is there."
    ),
    **dict.fromkeys(
        (errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP), "Give another path."
    ),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "Ask for the right to it, or give another one."),
    errno.EADDRINUSE: "Give another port: --port 0 takes a free one.",
    errno.EADDRNOTAVAIL: "Give an address of this machine: --host 127.0.0.1.",
}
# What a shell says of a program that the end of its reader has ended: 128 and the number of
# SIGPIPE.
_NO_READER = 141


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, and exit: 0 done, 1 ``verify`` found something, 2 an error of Hoodoo's
    or wrong usage, 141 if the program that reads the output has ended (``| head``)."""
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        _run(arguments)


def _run(arguments: Sequence[str] | None) -> None:
    try:
        try:
            from hoodoo_cli.commandline.app import build

            app = build()
        except ModuleNotFoundError as exc:
            if (exc.name or "").startswith("hoodoo"):
                raise
            raise HoodooError(
                "command hoodoo",
                f"the module {exc.name!r} is not installed; the command line needs it.",
                "pip install hoodoo-cli.",
            ) from None
        app(None if arguments is None else list(arguments))
    except SystemExit:
        if (
            type(sys.stdout).__name__ == "PacifyFlushWrapper"
        ):  # so click leaves a pipe without a reader
            sys.exit(_NO_READER)
        raise
    except HoodooError as exc:
        _say(str(exc))
        sys.exit(2)
    except OSError as exc:
        fix = _FIXES.get(exc.errno or 0)
        if fix is None:
            raise
        what = (
            f"file {exc.filename}"
            if exc.filename
            else "address"
            if "--port" in fix or "--host" in fix
            else "output"
        )
        can_not = "can't be used" if exc.filename or what == "address" else "can't be written"
        _say(f"{what}: {can_not}: {os.strerror(exc.errno or 0)}. Fix: {fix}")
        sys.exit(2)


def _warn(message: Warning | str, *_where: object, **_more: object) -> None:
    _say(str(message), "yellow")


def _say(sentence: str, style: str = "red") -> None:
    """One coloured sentence on the error stream; plain where it is not a terminal, or without
    rich."""
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        print(sentence, file=sys.stderr)
    else:
        console = Console(stderr=True)
        console.print(sentence, style=style, markup=False, highlight=False, soft_wrap=True)
