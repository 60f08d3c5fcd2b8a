"""A store below a folder of another one says of itself what that one says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hoodoo.storage.api import has_plain_files, is_shared
from hoodoo.testing.stores import Delegating
from hoodoo_metadata.table.below import Below
from hoodoo_standard.storage.local import LocalStorage


class Alone(Delegating):
    """A store that only its process sees, and whose bytes are its own."""

    shared = False
    plain_files = False


def test_it_says_what_the_store_says(tmp_path: Path) -> None:
    local = LocalStorage(str(tmp_path))
    alone: Any = Alone(local)
    below: Any = Below(alone, "a")
    assert not is_shared(below)
    assert not has_plain_files(below)
    assert has_plain_files(Below(local, "a"))
