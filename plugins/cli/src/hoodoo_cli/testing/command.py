"""The command ``hoodoo`` in the process of a test."""

from __future__ import annotations

from hoodoo_cli.commandline import main


def run_command(*words: object) -> int:
    """Run ``hoodoo`` with these words, and return its exit code; its output goes where that of the
    process goes.

    Example:
        >>> run_command("timeline", "/data/rides", "--json")
        0
    """
    try:
        main([str(word) for word in words])
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0
