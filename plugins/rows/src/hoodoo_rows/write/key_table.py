"""Where keys are in a table, asked for one batch of rows after another; and in base files, as an
index answers it: checked here once it is collected, as a wrong place would lose rows.

Arrow's own lookups hash the whole table again at each call; what is kept here is made once for a
task."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA
from hoodoo.kernel.answers import who_is

from hoodoo_rows.merge.pairs import flat
from hoodoo_rows.model.java_hash import string_hash

Numbers = npt.NDArray[np.int64]
_ONCE = "rows that differ: one for each key and file group that holds it"
# More locations than this are looked through by a sample of the keys.
_MANY, _SAMPLE = 1 << 16, 64


class KeyTable:
    """The rows of a table by one or more ``columns`` of text."""

    def __init__(self, *columns: pa.ChunkedArray | pa.Array) -> None:
        self._columns = [flat(column) for column in columns]
        hashes = _hashes(self._columns)
        self._order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._order]

    def places(self, *columns: pa.ChunkedArray | pa.Array) -> pa.Array:
        """The number of the first row with the values of each row of ``columns``; null: there is
        none."""
        asked = [flat(column) for column in columns]
        hashes = _hashes(asked)
        found = np.full(len(hashes), -1, np.int64)
        at, left = np.searchsorted(self._hashes, hashes), np.arange(len(hashes))
        while len(left):  # past the rows of other values that have the same hash
            left = left[at[left] < len(self._hashes)]
            left = left[self._hashes[at[left]] == hashes[left]]
            rows, same = self._order[at[left]], np.ones(len(left), bool)
            for mine, theirs in zip(self._columns, asked, strict=True):
                same &= pc.equal(mine.take(pa.array(rows)), theirs.take(pa.array(left))).to_numpy(
                    zero_copy_only=False
                )
            found[left[same]] = rows[same]
            left = left[~same]
            at[left] += 1
        return pa.array(found, mask=found < 0)

    def rows_of(self, *columns: pa.ChunkedArray | pa.Array) -> pa.Array:
        """The numbers of all rows with values that ``columns`` have, ascending."""
        rows = np.unique(self.places(*columns).drop_null().to_numpy())
        again, firsts = self._repeated
        return pa.array(np.union1d(rows, again[np.isin(firsts, rows)]))

    @cached_property
    def _repeated(self) -> tuple[Numbers, Numbers]:
        """The rows whose values an earlier row has, and the first of these."""
        firsts = self.places(*self._columns).to_numpy()
        again = np.flatnonzero(firsts != np.arange(len(firsts)))
        return again, firsts[again]


def _hashes(columns: list[pa.Array]) -> npt.NDArray[np.int32]:
    found = string_hash(columns[0])
    for column in columns[1:]:
        found = found * np.int32(31) + string_hash(column)
    return found


@frozen
class StoredAt:
    """``groups``: by partition path and file id (which names a bucket in each path, where Spark
    Hudi's writers do not block each other) the record keys (text) that the base file has, and the
    numbers of their rows, as long."""

    groups: Mapping[tuple[str, str], tuple[pa.Array, Numbers]]

    @classmethod
    def of(cls, found: pa.Table) -> StoredAt:
        """``found``: rows of ROWS_SCHEMA."""
        if not found.num_rows:
            return cls({})
        paths = flat(found.column("partition_path")).dictionary_encode()
        ids = flat(found.column("file_id")).dictionary_encode()
        groups = np.asarray(paths.indices, np.int64) * len(ids.dictionary) + np.asarray(ids.indices)
        order = np.argsort(groups, kind="stable")
        names, begins = np.unique(groups[order], return_index=True)
        keys = flat(found.column("record_key")).take(pa.array(order))
        filled = pc.fill_null(found.column("position"), -1)
        rows = np.asarray(filled, np.int64)[order]
        made = {}
        for name, start, end in zip(names, begins, [*begins[1:], len(order)], strict=True):
            path, file_id = divmod(int(name), len(ids.dictionary))
            group = paths.dictionary[path].as_py(), ids.dictionary[file_id].as_py()
            made[group] = keys.slice(start, end - start), rows[start:end]
        return cls(made)

    def rows(self, partition_path: str, file_id: str, keys: Any) -> Numbers | None:
        """The rows of the record ``keys``, all different, in the base file of a file group; None
        where one of them is not known."""
        there = self.groups.get((partition_path, file_id))
        if there is None or not len(keys):
            return None
        at = flat(pc.index_in(keys, value_set=there[0]))
        if at.null_count:
            return None
        rows = there[1][np.asarray(at)]
        return None if (rows < 0).any() else rows


def check_locations(index: Any, found: pa.Table, member: str = "locate") -> None:
    """PluginError where what ``index`` answered to ``member`` has nulls, or a row twice. Of many
    rows, those of every 64th key are looked at."""
    who = who_is(index)
    if who is None:
        return
    for name in LOCATIONS_SCHEMA.names:
        if found.column(name).null_count:
            raise who.broken(member, f"rows whose {name} is null", "rows without nulls")
    rows = found if found.num_rows <= _MANY else _sampled(found)
    distinct = rows.group_by(LOCATIONS_SCHEMA.names, use_threads=False).aggregate([])
    if distinct.num_rows < rows.num_rows:
        raise who.broken(member, f"{rows.num_rows - distinct.num_rows} rows twice", _ONCE)


def check_rows(index: Any, found: pa.Table) -> None:
    """PluginError where ``index`` answered to ``locate_rows`` (ROWS_SCHEMA) a number of a row that
    no base file has."""
    who, least = who_is(index), pc.min(found.column("position")).as_py()
    if who is not None and least is not None and least < 0:
        raise who.broken("locate_rows", f"the row {least}", "rows that are counted from 0, or null")


def check_groups(
    index: Any, found: Iterable[tuple[str, str]], known: Collection[tuple[str, str]]
) -> None:
    """PluginError where ``index`` located keys in file groups that the table does not have. Both
    are pairs of partition path and file id."""
    who = who_is(index)
    if who is None:
        return
    for place in found:
        if place not in known:
            raise who.broken(
                "locate",
                f"the file group {place[1]!r} of {place[0]!r}, which the table does not have",
                "file groups of the slices in the context",
            )


def check_asked(index: Any, found: pa.Table, asked: pa.ChunkedArray | pa.Array) -> None:
    """PluginError where ``index`` located keys that nobody asked for: ``asked`` are the numbers of
    the rows of ``found`` that somebody did. What is deleted is found by these rows alone."""
    who = who_is(index)
    if who is None:
        return
    count = found.num_rows - pc.count_distinct(asked).as_py()
    if count:
        raise who.broken("locate", f"{count} rows of keys that were not asked for", "asked keys")


def _sampled(found: pa.Table) -> pa.Table:
    """The rows of about every 64th key: by the sum of its last bytes, so that rows of a key stay
    together."""
    keys = found.column("record_key").combine_chunks()
    arrays = keys.chunks if isinstance(keys, pa.ChunkedArray) else [keys]
    return found.filter(pa.chunked_array([_chosen(a) for a in arrays], pa.bool_()))


def _chosen(keys: pa.Array) -> pa.Array:
    offsets = np.frombuffer(keys.buffers()[1], np.int32)[keys.offset : keys.offset + len(keys) + 1]
    data = np.frombuffer(keys.buffers()[2], np.uint8)
    mixed = np.zeros(len(keys), np.uint32)
    for back in (1, 2, 3, 4):
        at = np.maximum(offsets[1:] - back, offsets[:-1])
        mixed = mixed * np.uint32(31) + data[np.minimum(at, len(data) - 1)]
    return pa.array(mixed % _SAMPLE == 0)
