"""Workers that differ from the driver are named before anything is written."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
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


def upgraded_on_the_driver_alone() -> Any:
    """A serializer whose code is of version 2 in this process and of version 1 in all others."""
    import os

    driver = os.getpid()

    class Upgraded:
        name = "upgraded"

        @property
        def version(self) -> int:
            import os

            return 2 if os.getpid() == driver else 1

        def bind(self, schema: pa.Schema, near: bool = False) -> Any:
            from hoodoo_standard.serialize.packed import ArrowSerializer

            return ArrowSerializer().bind(schema, near)

        def open(self, header: bytes) -> Any:
            raise AssertionError("not opened")

    return Upgraded()


@pytest.mark.sampled(1, among="long")
def test_workers_of_another_version_of_a_serializer(engine: Any) -> None:
    """Refused before a write begins; and where nobody asked the workers, before one of them sends a row."""
    mine = upgraded_on_the_driver_alone()
    wanted = "serializer 'upgraded' on worker .*packs rows as upgraded/1, the driver as upgraded/2"
    with pytest.raises(PluginError, match=wanted):
        engine.check([PluginRef("serializer", "upgraded", instance=mine)])
    rows = pa.table(
        {name: pa.array([0, 1], pa.int32()) for name in ("_hoodie__part", "_hoodie__slot", "value")}
    )
    crossed = engine.exchange(engine.source(rows), 2, mine)
    with pytest.raises(EngineError, match="packed as upgraded/2: .*serializer is upgraded/1"):
        engine.collect(crossed)
