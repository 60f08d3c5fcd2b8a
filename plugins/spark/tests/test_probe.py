"""Workers that differ from the driver are named before anything is written."""

from __future__ import annotations

from typing import Any

import pytest
from hoodoo.errors import EngineError, PluginError
from hoodoo.hookspecs.registration import PluginRef

pytestmark = pytest.mark.spark


class Unpackaged:
    """A plugin object that a user passes as it is."""


def test_a_module_that_workers_lack(engine: Any) -> None:
    ref = PluginRef("merger", "theirs", "no_such_module_there", "theirs", "1.0")
    with pytest.raises(PluginError, match="no_such_module_there"):
        engine.check([ref])


def test_a_class_that_workers_lack(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An object of a module that only the driver has."""
    import sys
    import types

    module = types.ModuleType("only_on_the_driver")
    Unpackaged.__module__ = module.__name__
    module.Unpackaged = Unpackaged  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(PluginError, match="only_on_the_driver"):
        engine.check([PluginRef("merger", "mine", instance=Unpackaged())])


@pytest.mark.parametrize("name", ["Python", "pyarrow", "hoodoo"])
def test_another_version(engine: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    from hoodoo_spark import probe

    real = probe._expected()
    monkeypatch.setattr(probe, "_expected", lambda: {**real, name: "0.0.9"})
    monkeypatch.setattr(probe, "_passed", set())
    with pytest.raises(EngineError, match=rf"{name} on worker .* the driver has 0\.0\.9"):
        engine.check([])


def test_asked_once(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from hoodoo_spark import probe

    engine.check([])
    monkeypatch.setattr(probe, "_probe", None)
    engine.check([])


def test_a_registered_plugin(engine: Any) -> None:
    import hoodoo

    engine.check(
        [
            PluginRef(
                "serializer",
                "arrow",
                "hoodoo_standard.registrations",
                "hoodoo-standard",
                hoodoo.__version__,
            )
        ]
    )
    with pytest.raises(PluginError, match="9.9"):
        engine.check(
            [
                PluginRef(
                    "serializer", "arrow", "hoodoo_standard.registrations", "hoodoo-standard", "9.9"
                )
            ]
        )
