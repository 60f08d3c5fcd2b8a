"""The command ``hoodoo``. Its libraries are imported when it runs."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Sequence

from hoodoo.errors import HoodooError

# Faults of a disk that is written to, and none of Hoodoo's.
_OF_THE_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, and exit: 0 done, 1 ``verify`` found something, 2 an error of Hoodoo's or
    wrong usage."""
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
    except HoodooError as exc:
        _say(str(exc))
        sys.exit(2)
    except OSError as exc:
        if exc.errno not in _OF_THE_MACHINE:
            raise
        what = f"file {exc.filename}" if exc.filename else "output"
        _say(
            f"{what}: can't be written: {os.strerror(exc.errno)}. Fix: Make room, or write elsewhere."
        )
        sys.exit(2)


def _warn(message: Warning | str, *_where: object, **_more: object) -> None:
    _say(str(message), "yellow")


def _say(sentence: str, style: str = "red") -> None:
    """One coloured sentence on the error stream; plain where it is not a terminal, or without rich."""
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        print(sentence, file=sys.stderr)
    else:
        console = Console(stderr=True)
        console.print(sentence, style=style, markup=False, highlight=False, soft_wrap=True)
