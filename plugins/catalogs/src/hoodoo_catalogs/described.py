"""What a catalog is to have of a table: its entries, made of the table as it is now."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.model.config import TableConfig
from hoodoo.model.instant import Instant
from hoodoo.model.meta import META_COLUMNS, without_meta
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.participants.listing import build_whole
from hoodoo.storage.api import Storage
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_catalogs import options
from hoodoo_catalogs.hive_types import hive_type, spark_field
from hoodoo_catalogs.hookspecs.catalog import CatalogTable, Column, Values
from hoodoo_catalogs.partition_values import partition_values

# Parameters by which Hudi's sync tools know how far an entry is synced.
REQUESTED, COMPLETED = "last_commit_time_sync", "last_commit_completion_time_sync"
STATE = (REQUESTED, COMPLETED)
PROVIDER = "spark.sql.sources.provider"
_SCHEMA = "spark.sql.sources.schema"


@frozen
class Described:
    """One look at a table, for catalogs."""

    storage: Storage
    timeline: Timeline
    given: Mapping[str, str]

    @property
    def config(self) -> TableConfig:
        return self.timeline.config

    @property
    def newest(self) -> Instant | None:
        """The completed write that was completed last."""
        return max(self.timeline.writes(), key=lambda i: i.completion_order, default=None)

    def entries(self, name: str, has_views: bool) -> tuple[CatalogTable, ...]:
        """The entries of the table under ``name``: several for one that is merged on read, if the
        catalog ``has_views``."""
        views = self._views() if has_views else (("", "snapshot"),)
        return tuple(self.entry(f"{name}{end}", view, has_views) for end, view in views)

    def _views(self) -> tuple[tuple[str, str], ...]:
        if self.config.table_type != "MERGE_ON_READ":
            return (("", "snapshot"),)
        strategy = options.STRATEGY.read(self.given)
        if strategy != "ALL":
            return (("", "read_optimized" if strategy == "RO" else "realtime"),)
        short = options.SKIP_RO.read(self.given)
        found = [("" if short else "_ro", "read_optimized"), ("_rt", "realtime")]
        if not short and options.SNAPSHOT_NAME.read(self.given):
            found.append(("", "realtime"))
        return tuple(found)

    # --- columns ----------------------------------------------------------------------------------
    def entry(self, name: str, view: str, for_engines: bool) -> CatalogTable:
        """One of them. ``for_engines``: as Hudi's sync tools make it."""
        text = self.timeline.latest_schema_text(self.storage) or self.config.create_schema
        own = pa.schema([]) if text is None else without_meta(arrow_schema(text))
        comments = _comments(text) if options.COMMENTS.read(self.given) or not for_engines else {}
        keys = self.partition_columns
        omitted = options.OMIT_META.read(self.given) or not for_engines
        meta = [] if omitted else [pa.field(c, pa.string()) for c in META_COLUMNS]
        fields = [*meta, *(f for f in own if f.name not in keys)]
        by_name = {f.name: f for f in own}
        partitions = [by_name.get(key, pa.field(key, pa.string())) for key in keys]
        timestamps = not for_engines or options.TIMESTAMPS.read(self.given)

        def columns(of: list[pa.Field]) -> tuple[Column, ...]:
            return tuple(
                Column(f.name, hive_type(f.type, timestamps), comments.get(f.name, "")) for f in of
            )

        return CatalogTable(
            name,
            self.location,
            columns(fields),
            columns(partitions),
            {**self._for_spark([*fields, *partitions], keys), **self._more, **self.state},
            view,
        )

    @property
    def location(self) -> str:
        scheme, colon, rest = self.storage.root.partition(":")
        return f"s3:{rest}" if colon and scheme in ("s3a", "s3n") else self.storage.root

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The partition columns of its entries."""
        given = options.KEYS.given(self.given)
        return self.config.partition_fields if given is None else given

    @property
    def state(self) -> dict[str, str]:
        """The parameters that say how far an entry is synced."""
        newest = self.newest
        if newest is None:
            return {}
        return {REQUESTED: newest.requested, COMPLETED: newest.completion_order}

    @property
    def _more(self) -> dict[str, str]:
        text = options.TABLE_PROPERTIES.given(self.given) or ""
        pairs = (line.partition("=") for line in text.splitlines() if line.strip())
        return {key.strip(): value.strip() for key, _, value in pairs}

    def _for_spark(self, fields: list[pa.Field], keys: tuple[str, ...]) -> dict[str, str]:
        if not options.AS_SOURCE.read(self.given):
            return {}
        schema = {"type": "struct", "fields": [spark_field(field) for field in fields]}
        text, most = (
            json.dumps(schema, separators=(",", ":")),
            options.SCHEMA_LENGTH.read(self.given),
        )
        parts = [text[at : at + most] for at in range(0, len(text), most)]
        found = {PROVIDER: "hudi", f"{_SCHEMA}.numParts": str(len(parts))}
        found |= {f"{_SCHEMA}.part.{n}": part for n, part in enumerate(parts)}
        if keys:
            found[f"{_SCHEMA}.numPartCols"] = str(len(keys))
            found |= {f"{_SCHEMA}.partCol.{n}": key for n, key in enumerate(keys)}
        return found

    # --- partitions -------------------------------------------------------------------------------
    def values(self, path: str) -> Values:
        """The values of the partition columns of a partition path."""
        return partition_values(
            path,
            len(self.partition_columns),
            options.EXTRACTOR.given(self.given),
            options.DECODE.read(self.given),
        )

    def locations(self, paths: Collection[str] | None) -> dict[Values, str]:
        """The partitions that have files (of ``paths``, if they are given), with their
        locations."""
        found = build_whole(Snapshot(self.storage, self.timeline), paths).partitions()
        return {self.values(path): f"{self.location}/{path}" for path in found}

    def changed_since(self, state: Mapping[str, str]) -> frozenset[str] | None:
        """The partition paths that writes have changed since the ``state`` of an entry; None if
        only a comparison of all partitions can say it: there is no state, its write was archived or
        undone, or the table is of version 6."""
        known = self.timeline.find(state.get(REQUESTED, ""))
        # Where completion times are not noted, a write that began before may have ended since.
        if known is None or not self.timeline.layout.names_completion:
            return None
        since = state.get(COMPLETED) or known.completion_order
        paths: set[str] = set()
        for instant in self._later(known.requested, since):
            said = self.timeline.metadata(self.storage, instant)
            paths.update(stat.partition_path for stat in said.stats)
            paths.update(said.replaced)
        return None if self._undone_since(since) else frozenset(paths)

    def _later(self, requested: str, completed: str) -> Iterator[Instant]:
        for instant in self.timeline.writes():
            if instant.requested > requested or instant.completion_order > completed:
                yield instant

    def _undone_since(self, since: str) -> bool:
        """Whether something was undone, or a clean may have taken a partition away."""
        return any(
            i.is_completed and i.traits.undoes and i.requested > since
            for i in self.timeline.others()
        )


def _comments(text: str | None) -> dict[str, str]:
    fields: Any = json.loads(text).get("fields", ()) if text else ()
    return {f["name"]: f["doc"] for f in fields if f.get("doc")}
