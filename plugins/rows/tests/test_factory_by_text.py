"""A factory that a registration names by a text is imported when it is needed."""

from __future__ import annotations

from types import SimpleNamespace

import hoodoo
import pytest
from hoodoo.errors import PluginError
from hoodoo.hookspecs import Registration
from hoodoo.kernel.discover import Plugin
from hoodoo.kernel.registry import Kernel
from hoodoo.kernel.resolve import resolve
from hoodoo_rows.testing.engine_steps import Backwards


def using(text: str) -> Kernel:
    marked = SimpleNamespace(hoodoo_layouts=hoodoo.hookimpl(lambda: [Registration("dotted", text)]))
    return Kernel([Plugin("a", "a_module", "a-dist", "1.5", marked)])


def test_by_the_text_of_a_factory() -> None:
    def hoodoo_serializers() -> list[Registration]:
        text = "hoodoo_rows.testing.engine_steps:Backwards"
        return [Registration("packed", text, ("", "other"))]

    marked = SimpleNamespace(hoodoo_serializers=hoodoo.hookimpl(hoodoo_serializers))
    found = Kernel([Plugin("a", "a_module", "a-dist", "1.5", marked)])
    for name in ("packed", "", "OTHER"):
        assert isinstance(resolve("serializer", name, using=found).instance, Backwards)
    dotted = using("hoodoo.testing.stores:RecordingStorage.__init__")
    with pytest.raises(PluginError, match="TypeError"):  # found, and called with the settings
        resolve("layout", "dotted", using=dotted)
