"""Functions of the package, and methods of reads, that plugins bring."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import CallError, PluginError
from hoodoo.hookspecs import Registration
from hoodoo.kernel import functions
from hoodoo.kernel.discover import Plugin
from hoodoo.kernel.registry import Kernel
from hoodoo_rows.read.rows import Rows


def greet(name: str, *, loud: bool = False) -> str:
    """Say hello."""
    return f"{name}{'!' if loud else ''}"


def widest(self: Any) -> str:
    """The name of the widest column."""
    return f"widest of {self.schema.names}"


class _Some(Rows):
    schema = pa.schema([("a", pa.int8())])

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        return iter(())

    def count(self) -> int:
        return 0


class _Module:
    @staticmethod
    @hoodoo.hookimpl
    def hoodoo_functions() -> list[Registration]:
        return [
            Registration("greet", greet),
            Registration("Scan.widest", widest),
            Registration("lost", "nowhere_at.all:lost"),
        ]


@pytest.fixture(autouse=True)
def with_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Kernel([Plugin("mine", "mine", "mine-dist", "1.0", _Module)])
    monkeypatch.setattr(functions, "kernel", lambda: made)


def test_a_function_of_the_package() -> None:
    assert hoodoo.greet("you", loud=True) == "you!"
    assert hoodoo.greet.__doc__ == "Say hello."
    assert "greet" in dir(hoodoo) and "create" in dir(hoodoo)
    with pytest.raises(CallError, match=r"Did you mean 'loud'\? .*hoodoo.greet\(name"):
        hoodoo.greet("you", lowd=True)


def test_a_method_of_reads() -> None:
    assert _Some().widest() == "widest of ['a']"  # type: ignore[attr-defined]
    assert "widest" in dir(_Some()) and "count" in dir(_Some())
    assert not hasattr(hoodoo, "widest") and "widest" not in dir(hoodoo)
    assert not hasattr(_Some(), "greet")


def test_what_nobody_brings() -> None:
    assert "scan_polars" in dir(hoodoo) and "to_dataset" in dir(_Some())
    with pytest.raises(PluginError, match=r"hoodoo\.scan_polars: .*pip install hoodoo-frames"):
        hoodoo.scan_polars("p")
    with pytest.raises(PluginError, match=r"Scan\.to_dataset: .*pip install hoodoo-frames"):
        _Some().to_dataset()  # type: ignore[attr-defined]
    for name in ("wave", "GREET", "_greet", "Scan.widest"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(hoodoo, name)
    with pytest.raises(AttributeError, match="no attribute 'wave'"):
        _Some().wave  # type: ignore[attr-defined]  # noqa: B018


def test_modules_stay_modules() -> None:
    from hoodoo import errors

    assert errors.PluginError is PluginError


def test_what_cannot_be_imported() -> None:
    with pytest.raises(PluginError, match=r"'lost' of .*mine-dist.*can't be imported"):
        hoodoo.lost  # noqa: B018
