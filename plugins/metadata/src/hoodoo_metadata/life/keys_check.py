"""The check of the record keys of a table against the partitions of its metadata table."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hoodoo.errors import HoodooError
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.participant import KeysCheck
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.table.settings import merger_name
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_metadata.life.verify import AllChecks, LocationsCheck
from hoodoo_metadata.partitions.bloom.verify import FiltersCheck
from hoodoo_metadata.partitions.secondary.rows import secondaries
from hoodoo_metadata.partitions.secondary.verify import SecondaryCheck
from hoodoo_metadata.table.layout import BLOOM_FILTERS, INDEXES
from hoodoo_metadata.table.metadata_table import listed


def keys_check(
    snapshot: Snapshot, file_format: Callable[[], BaseFileFormat], settings: Settings
) -> KeysCheck | None:
    """One check for all partitions that store keys; None if there is none."""
    checks: list[KeysCheck] = []
    there = listed(snapshot.config)
    if any(index in there for index in INDEXES):
        checks.append(LocationsCheck(snapshot.storage, snapshot.timeline))
    if BLOOM_FILTERS in there:
        checks.append(FiltersCheck(snapshot.storage, snapshot.timeline, file_format()))
    if secondaries(snapshot.config):
        checks += _secondary(snapshot, file_format, settings)
    return AllChecks(tuple(checks)) if checks else None


def _secondary(
    snapshot: Snapshot, file_format: Callable[[], BaseFileFormat], settings: Settings
) -> Iterable[KeysCheck]:
    try:
        merger = resolve("merger", merger_name(snapshot.config), settings).instance
    except HoodooError:
        return ()  # the rows can't be read without it, which is found
    check = SecondaryCheck.of(snapshot, file_format(), merger)
    return () if check is None else (check,)
