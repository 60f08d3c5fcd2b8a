"""tests/combinations.md says what the pairwise histories draw and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import combinations_page


def test_the_page_of_combinations_is_made_of_what_is_drawn() -> None:
    assert combinations_page.PAGE.read_text("utf-8") == combinations_page.render(), (
        "python tests/meta/combinations_page.py makes it"
    )
