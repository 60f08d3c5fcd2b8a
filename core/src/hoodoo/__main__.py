"""``python -m hoodoo``: runs the command ``hoodoo`` of the distribution that has one."""

from importlib.metadata import entry_points

if __name__ == "__main__":
    commands = list(entry_points(group="console_scripts", name="hoodoo"))
    if not commands:
        raise SystemExit(
            "command hoodoo: no installed distribution has it. Fix: pip install hoodoo."
        )
    commands[0].load()()
