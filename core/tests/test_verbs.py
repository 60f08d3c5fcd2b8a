"""Methods of a table that plugins bring."""

from __future__ import annotations

from typing import Any

import pytest
from hoodoo.errors import CallError, PluginError
from hoodoo.table import verbs
from hoodoo.table.table import Table


def greet(table: Any, name: str, *, loud: bool = False) -> str:
    """Say hello."""
    return f"{table}: {name}{'!' if loud else ''}"


class _Face:
    _handle = "h"
    greet = verbs.Offered("greet", "hoodoo-greetings")


def test_a_method_that_nobody_brings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verbs, "offered", lambda name: None)
    assert hasattr(_Face(), "greet")
    with pytest.raises(PluginError, match=r"table\.greet.*pip install hoodoo-greetings"):
        _Face().greet("you")


def test_a_method_is_the_function_of_the_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verbs, "offered", lambda name: verbs.verb(greet))
    assert _Face().greet("you", loud=True) == "h: you!"
    assert _Face.greet.__doc__ == "Say hello."
    with pytest.raises(CallError, match="loud"):
        _Face().greet("you", lowd=True)


def test_methods_that_core_has_never_heard_of(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verbs.verb(greet)
    monkeypatch.setattr("hoodoo.table.table.offered", {"greet": found}.get)
    table = Table.__new__(Table)
    table._handle = "h"  # type: ignore[assignment]
    assert table.greet("me") == "h: me"  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no attribute 'wave'"):
        table.wave  # type: ignore[attr-defined]  # noqa: B018
