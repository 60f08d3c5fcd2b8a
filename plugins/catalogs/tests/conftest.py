from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hoodoo.kernel.registry import kernel
from hoodoo.testing.distributions import fake_distribution

# A catalog of the scheme `fake`, whose object tests put in its place.
SOURCE = """
from hoodoo import hookimpl
from hoodoo.hookspecs import Registration

AT = []


@hookimpl(optionalhook=True)
def hoodoo_catalogs():
    return [Registration("fake", lambda settings: AT[0])]
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The list whose first item is the catalog at ``fake://``."""
    from hoodoo_catalogs.testing.fakes import MemoryCatalog

    folder = fake_distribution(
        tmp_path / "installed",
        "acme",
        entry_points={"acme_lakes": "acme_lakes"},
        modules={"acme_lakes": SOURCE},
    )
    monkeypatch.syspath_prepend(str(folder))
    kernel.cache_clear()
    import acme_lakes  # type: ignore[import-not-found]  # made above

    acme_lakes.AT[:] = [MemoryCatalog()]
    yield acme_lakes.AT
    kernel.cache_clear()
    del sys.modules["acme_lakes"]
