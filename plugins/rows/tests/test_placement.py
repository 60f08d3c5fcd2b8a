"""What commits say of where rows lie."""

from __future__ import annotations

import pytest
from hoodoo.errors import CorruptTableError
from hoodoo_rows import placement


def test_a_text_that_is_too_deep_names_its_commit() -> None:
    with pytest.raises(CorruptTableError, match="f: "):
        placement._parsed("[" * 50_000, "f")
