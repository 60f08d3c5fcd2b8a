"""``python -m hoodoo``: the command ``hoodoo`` of whichever distribution has it."""

from __future__ import annotations

from importlib.metadata import entry_points

from hoodoo.errors import PluginError

if __name__ == "__main__":
    commands = list(entry_points(group="console_scripts", name="hoodoo"))
    if not commands:
        fix = "Install one that has it: pip install hoodoo."
        raise SystemExit(
            str(PluginError("command hoodoo", "no installed distribution has it.", fix))
        )
    commands[0].load()()
