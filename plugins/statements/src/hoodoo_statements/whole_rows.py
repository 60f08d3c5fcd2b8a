"""Whole rows: a merge that puts each row of its source in the place of the row of its key, or
brings it in, is an upsert. Its rows are made without a look at the table, and the index finds where
they lie."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from hoodoo.errors import DataError
from hoodoo.hookspecs.key_generator import KeyGenerator, can_be_virtual
from hoodoo.hookspecs.merger import delete_mark
from hoodoo.model.meta import IS_DELETED, OPERATION
from hoodoo.options.table import BY_ARRIVAL
from hoodoo_rows.api import ArrivingRows, WriteTarget

from hoodoo_statements.clauses import Arrow, Clauses, Insert, Taken
from hoodoo_statements.inserts import inserted_rows
from hoodoo_statements.text.scope import SOURCE

_NONE = pa.chunked_array([], pa.int64())


def whole_rows(
    source: pa.Table | None,
    clauses: Clauses,
    inserts: Sequence[Insert],
    target: WriteTarget,
    instant: str,
) -> pa.Table | None:
    """The keyed rows of such a merge; None: it is none, or whether its rows are there is not known
    from the index alone, as in tables with log files. ``instant``: as of
    :func:`~hoodoo_statements.inserts.inserted_rows`."""
    if source is None or not source.num_rows or not _replaces(clauses, inserts, target):
        return None
    if target.logs is not None or not ArrivingRows.is_plain(target.merger, BY_ARRIVAL):
        return None
    marks = {IS_DELETED, OPERATION, *(delete_mark(target.merger) or ())[:1]}
    if marks & {*target.schema.names} or not _by_key(source, clauses, target):
        return None
    try:
        rows = inserted_rows(source, _NONE, inserts, target, instant)
    except DataError:  # which of them are new, and so wrong, the table says
        return None
    return rows.drop_columns([ArrivingRows.FILE_ID])


def _replaces(clauses: Clauses, inserts: Sequence[Insert], target: WriteTarget) -> bool:
    """Whether a matched row becomes what it would be as a new one."""
    if clauses.unmatched or len(clauses.matched) != 1 or len(inserts) != 1:
        return False
    update, insert = clauses.matched[0], inserts[0]
    if update.condition is not None or insert.condition is not None or update.values is None:
        return False
    if not all(name.startswith(f"{SOURCE}.") for name in update.reads):
        return False
    if any(isinstance(value, Arrow) for value in update.values.values()):
        return False
    return update.values == insert.values and update.values.keys() >= set(target.schema.names)


def _by_key(source: pa.Table, clauses: Clauses, target: WriteTarget) -> bool:
    """Whether a row of the source is matched by the row, the only one, that the index finds by its
    key."""
    index, generator = target.index, target.generator
    if clauses.join is None or not tells_values(generator):
        return False
    if any(source.column(theirs).null_count for _, theirs in clauses.join.equal):
        return False
    for mine, theirs in clauses.join.equal:  # the row that comes has the key that is compared
        value = (clauses.matched[0].values or {})[mine]
        if not (isinstance(value, Taken) and value.name == theirs):
            return False
    compared = {mine for mine, _ in clauses.join.equal}
    fields, paths = set(generator.record_key_fields), set(generator.partition_fields)
    if index.is_global:
        return compared == fields and (not paths or index.moves_partitions)
    return compared == fields | paths


def tells_values(generator: KeyGenerator) -> bool:
    """Whether rows with other values have other keys: the generator refuses those of which it is
    not true."""
    return can_be_virtual(generator) and hasattr(generator, "refuse_ambiguous")
