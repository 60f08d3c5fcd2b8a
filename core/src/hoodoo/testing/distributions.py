"""Distributions that look installed: a dist-info folder and modules in a directory.

For tests of discovery, and for plugin authors who test how their entry point behaves when another
distribution stands in its way. Put the directory on ``sys.path`` and ``importlib.metadata`` finds
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hoodoo.kernel.discover import GROUP


def fake_distribution(
    directory: Path,
    name: str,
    version: str = "1.0",
    *,
    entry_points: Mapping[str, str] | None = None,
    modules: Mapping[str, str] | None = None,
) -> Path:
    """Write a distribution; ``directory`` is returned.

    ``entry_points``: name -> value in the group ``hoodoo``. ``modules``: dotted name -> source.
    """
    info = directory / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [f"{key} = {value}" for key, value in (entry_points or {}).items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))
    for module, source in (modules or {}).items():
        path = directory.joinpath(*module.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return directory
