"""Prove: an index knows where every row of a table lies, and rows lie where it would look for their
keys."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import ConfigError, CorruptTableError, DataError, DuplicateKeyError
from hoodoo.hookspecs.engine import Task
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.index import COMPUTED
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.model.meta import RECORD_KEY, with_meta
from hoodoo.model.payload import pack_slices, unpack_slices
from hoodoo.storage.api import Storage
from hoodoo_rows.api import Batches, KeyLookup, MergeRule, WriteTarget

from hoodoo_services.indexes.compare import Compared
from hoodoo_services.indexes.lookup import all_keys, locations_of, places, stale
from hoodoo_services.outcome import Comparison

_SHOWN = 5
_MISPLACED = pa.schema(
    [("record_key", pa.string()), ("lies", pa.string()), ("belongs", pa.string())]
)


def prove(target: WriteTarget, index: Compared, name: str, was_global: bool) -> Comparison:
    """What ``index``, called ``name``, says of every key, compared with where the rows are: the
    same.

    ``was_global``: the table's index until now is global, so rows may lie where their columns do
    not say. Raises DuplicateKeyError where keys would have to be unique and are not, DataError
    where rows lie in another partition path than ``index`` would look in, ConfigError where rows
    lie elsewhere than ``index`` computes, and CorruptTableError where it does not know, or knows
    too much."""
    there = prove_rows(target, index, name, was_global)
    told = locations_of(target, index, all_keys(target), True)
    found = Comparison((there.num_rows, told.num_rows), KeyLookup.different(there, told))
    if not found.same:
        _refuse(target, index, name, found, there)
    old = stale(target, index, there)
    if old.num_rows and (isinstance(index, COMPUTED) or not KeyLookup.keeps_gone(target, index)):
        raise CorruptTableError(
            f"index {name}",
            f"has {old.num_rows} entries of keys that the table does not have, such as "
            f"{_some(old)}.",
            f"Rebuild it: table.rebuild_index({name!r}).",
        )
    return found


def prove_rows(target: WriteTarget, index: Compared, name: str, was_global: bool) -> pa.Table:
    """That rows lie where ``index`` would look for their keys, as far as it need not be there for
    that; the places of all rows (LOCATIONS_SCHEMA). Raises DuplicateKeyError and DataError as
    :func:`prove`."""
    there = places(target)
    if index.is_global:
        _refuse_doubled(there)
    elif was_global:
        _refuse_misplaced(target, name)
    return there


def _refuse_doubled(there: pa.Table) -> None:
    paths = there.group_by(["record_key", "partition_path"]).aggregate([]).group_by("record_key")
    counted = paths.aggregate([("partition_path", "count")])
    doubled = counted.filter(pc.greater(counted.column("partition_path_count"), 1))
    if doubled.num_rows:
        raise DuplicateKeyError(
            f"{doubled.num_rows} record keys, such as {_some(doubled)}",
            "lie in more than one partition path, and a global index needs keys that are unique in "
            "the table.",
            "Delete all but one row of each key (table.delete with key and partition columns), or "
            "choose an "
            "index that is not global.",
        )


def _refuse(
    target: WriteTarget, index: Compared, name: str, found: Comparison, there: pa.Table
) -> None:
    rows = found.differences
    if isinstance(index, COMPUTED):
        raise ConfigError(
            f"index {name}",
            f"computes where rows lie, and {rows.num_rows} keys or more lie elsewhere, such as "
            f"{_some(rows)}.",
            "Create a table with this index and write the rows there: "
            f"hoodoo.create(..., index={name!r}).bulk_insert(table.read()).",
        )
    keys = there.filter(
        pc.is_in(there.column("record_key"), value_set=rows.column("record_key").combine_chunks())
    )
    alike = ["record_key"] if index.is_global else ["record_key", "partition_path"]
    counted = keys.group_by(alike).aggregate([("file_id", "count")])
    twice = counted.filter(pc.greater(counted.column("file_id_count"), 1))
    if twice.num_rows:
        raise DuplicateKeyError(
            f"{twice.num_rows} record keys, such as {_some(twice)}",
            f"lie in more than one file group of their partition path, and {name} stores one place "
            "of a key.",
            "Delete these keys and upsert one row of each, or choose another index.",
        )
    fix = f"Rebuild it: table.rebuild_index({name!r}), or hoodoo rebuild-index."
    if target.logs is not None and any(s.log_files for s in target.slices):
        fix = "Compact the table first (table.compact()); of an index that is stored: " + fix
    raise CorruptTableError(
        f"index {name}",
        f"differs from the files in {rows.num_rows} places of keys, such as {_some(rows)}.",
        fix,
    )


def _refuse_misplaced(target: WriteTarget, name: str) -> None:
    """A key that arrives with the partition path that its columns say is looked for there."""
    generator = target.generator
    columns = list(dict.fromkeys(field.split(".")[0] for field in generator.partition_fields))
    if not columns or not target.slices:
        return
    rule = target.merge_rule(with_meta(target.schema)).narrowed([RECORD_KEY, *columns])
    step = _Misplaced(target.storage, target.file_format, rule, generator)
    tasks = target.engine.tasks([pack_slices([slice_]) for slice_ in target.slices])
    found = target.engine.collect(target.engine.map(tasks, step))
    if found.num_rows:
        row = found.slice(0, 1).to_pylist()[0]
        raise DataError(
            f"record key {row['record_key']!r}",
            f"lies in partition {row['lies']!r}, and its columns say {row['belongs']!r}: with "
            f"{name} the next "
            "row of this key would be inserted as another row.",
            "Delete these keys and upsert their rows again, or let keys move (the option "
            "...update.partition.path of "
            "the table's index, docs/indexes.md), or choose a global index.",
        )


@frozen
class _Misplaced:
    """Step: payloads of slices in; some rows whose columns say another partition path out."""

    storage: Storage
    file_format: BaseFileFormat
    rule: MergeRule
    generator: KeyGenerator

    @property
    def out_schema(self) -> pa.Schema:
        return _MISPLACED

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column("payload").to_pylist():
                for slice_ in unpack_slices(payload):
                    for rows in Batches.merged(self.storage, self.file_format, self.rule, slice_):
                        found = self._of(rows, slice_.partition_path)
                        if found is not None:
                            yield found
                            break

    def _of(self, rows: pa.RecordBatch, lies: str) -> pa.RecordBatch | None:
        belongs = self.generator.partition_paths(rows)
        elsewhere = pc.not_equal(belongs, lies)
        if not pc.any(elsewhere, min_count=0).as_py():
            return None
        keys = rows.column(RECORD_KEY).cast(pa.string()).filter(elsewhere).slice(0, 1)
        return pa.record_batch(
            [keys, pa.array([lies]), belongs.filter(elsewhere).slice(0, 1)], schema=_MISPLACED
        )


def _some(rows: pa.Table) -> str:
    # Sorted: groups and joins give rows in an order of their own, another one each time.
    keys = pc.unique(rows.column("record_key")).sort()[: _SHOWN + 1].to_pylist()
    return ", ".join(map(repr, keys[:_SHOWN])) + (", ..." if len(keys) > _SHOWN else "")
