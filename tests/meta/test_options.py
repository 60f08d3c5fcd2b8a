"""Options are declared once, and the page of options is what is declared."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from hoodoo.kernel import declared_options

REPO = Path(__file__).parents[2]


def _page() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "options_page", Path(__file__).parent / "options_page.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_options_is_what_is_declared() -> None:
    made = _page()
    assert made.PAGE.read_text("utf-8") == made.page(), "run: python tests/meta/options_page.py"


def test_defaults_are_right_values_in_their_plain_spelling() -> None:
    for option in declared_options():
        if option.default is not None:
            assert option.spell(option.initial) == option.default, option.key
