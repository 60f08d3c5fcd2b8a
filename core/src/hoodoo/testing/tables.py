"""Tables in a store of your own, and tables whose properties another program has changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hoodoo.hookspecs.engine import Engine
from hoodoo.storage.api import Storage
from hoodoo.table.table import Table
from hoodoo.timeline import properties
from hoodoo.timeline.codec import avro


def opened_in(
    store: Storage, options: Mapping[str, str] | None = None, engine: Engine | None = None
) -> Table:
    """The table in ``store`` as a new process opens it. ``engine``: by default that of the
    options.

    Raises NotATableError where the store has no table.
    """
    return Table(store, properties.load(store), options or {}, engine)


def change_properties(store: Storage, changes: Mapping[str, str | None]) -> None:
    """Change ``hoodie.properties`` of the table in ``store``, as other programs do: nothing checks
    whether the table is as they say. None takes a property away."""
    properties.update(store, properties.load(store), changes)


def plan(name: str, record: Mapping[str, Any]) -> bytes:
    """The bytes of a plan, as it is in a file on the timeline: an Avro file of the schema ``name``
    of Hudi, such as ``HoodieCleanerPlan``."""
    return avro.encode(name, record)
