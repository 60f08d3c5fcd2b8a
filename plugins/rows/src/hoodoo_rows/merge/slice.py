"""The rows of one file slice: its base file, merged with its log files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import HoodooWarning
from hoodoo.hookspecs.file_format import BaseFileFormat, BaseFileReader
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo.model.meta import RECORD_KEY, encoded_as
from hoodoo.options.table import BY_ARRIVAL
from hoodoo.storage.api import Storage, of_size

from hoodoo_rows.merge.log_rows import read_log_rows
from hoodoo_rows.merge.meet import Counts, KeyJoin, MatchResult, Places
from hoodoo_rows.merge.pairs import is_plain
from hoodoo_rows.merge.positions import POSITION, RowPlaces, last_row, numbered
from hoodoo_rows.merge.rule import MergeRule
from hoodoo_rows.merge.virtual import KeyedReader
from hoodoo_rows.read.late import FindsRows, finds_rows, matching_rows
from hoodoo_rows.write.widen import widened

# Of one column of text, in one batch: Arrow has room for twice as much.
_TEXT_BYTES = 1 << 30
# A column of places, beside the columns of rows.
_AT = "_hoodie__at"


def merged_rows(
    storage: Storage,
    file_format: BaseFileFormat,
    rule: MergeRule,
    slice_: FileSlice,
    pushed: Callable[[pa.Schema], pc.Expression | None] | None = None,
    keys: Sequence[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of ``slice_`` in the columns of the rule; what only logs have comes last.

    ``pushed`` answers the filter that may skip row groups of a base file of the given schema.
    ``keys``: rows of other record keys need not come. Rows of one key alone meet each other, so
    those of others are left out on both sides, whatever the merger.
    Memory: the log rows, and a batch of the base file. Warns of damaged bytes in logs, naming file
    and offset."""
    base = slice_.base_file
    met = None if base is None or keys is not None else base.instant
    asked = None if keys is None or rule.keys is not None else pa.array(keys, pa.string())
    found = read_log_rows(storage, slice_.log_files, rule, met, asked)
    for damage in found.damages:
        warnings.warn(f"{storage.root}: {damage}", HoodooWarning, stacklevel=2)
    with ExitStack() as stack:
        reader: BaseFileReader | None = None
        if base is not None:
            opened = stack.enter_context(file_format.reader(storage, base.path))
            reader = of_size(opened, base.path, base.size)
            if last_row(found.waiting) >= reader.num_rows:  # not rows of this file
                found = read_log_rows(storage, slice_.log_files, rule)
        yield from _merged(reader, base, rule, found.waiting, pushed, asked)


def _merged(
    reader: BaseFileReader | None,
    base: BaseFile | None,
    rule: MergeRule,
    waiting: KeyJoin | None,
    pushed: Callable[[pa.Schema], pc.Expression | None] | None,
    asked: pa.Array | None,
) -> Iterator[pa.RecordBatch]:
    # Where log rows are what they are, whatever is stored, row groups that the filter rules out
    # need not be read.
    stands_alone = is_plain(rule.merger, BY_ARRIVAL)
    if waiting is not None and (waiting.absent or not stands_alone):
        pushed = None
    if base is not None and reader is not None:
        yield from _merged_base(reader, rule, base.path, waiting, pushed, asked)
    if waiting is not None:
        yield from _batches(waiting.rest(), rule.out_schema)


def _merged_base(
    reader: BaseFileReader,
    rule: MergeRule,
    path: str,
    waiting: KeyJoin | None,
    pushed: Callable[[pa.Schema], pc.Expression | None] | None,
    asked: pa.Array | None,
) -> Iterator[pa.RecordBatch]:
    if rule.keys is not None and not isinstance(reader, KeyedReader):
        reader = KeyedReader(reader, rule.keys, path)
    where = pushed and pushed(reader.schema)
    known = frozenset(reader.schema.names)
    there = [name for name in rule.out_schema.names if name in known]
    if asked is not None and RECORD_KEY in known and finds_rows(reader):
        yield from _rows_of_keys(reader, there, rule.out_schema, waiting, path, asked)
        return
    if waiting is not None and POSITION in waiting.rows.schema.names:
        yield from _by_rows(reader, there, rule.out_schema, waiting, where, path)
        return
    places, left = None, 0
    if waiting is not None:
        places = Places(waiting, (b.column(0) for b in reader.batches([RECORD_KEY], where)))
    for batch in _with_room(reader.batches(there, where, encoded=waiting is not None)):
        left += batch.num_rows
        if places is None or waiting is None:
            yield widened(batch, rule.out_schema, path)
            continue
        # Dictionaries become text after the choice of rows: numbers are chosen faster than
        # text.
        stored = widened(batch, encoded_as(rule.out_schema, batch.schema), path)
        met = waiting.meet(stored, places.take(stored.num_rows))
        yield from _of_both(met, rule.out_schema, path)
    if waiting is not None and places is not None and left < reader.num_rows:
        more = waiting.more(places.met, _stored_rows(waiting, reader, rule.out_schema, where))
        yield from _batches(more, rule.out_schema)


def _by_rows(
    reader: BaseFileReader,
    there: Sequence[str],
    schema: pa.Schema,
    waiting: KeyJoin,
    where: pc.Expression | None,
    path: str,
) -> Iterator[pa.RecordBatch]:
    """The rows of a base file, which log rows meet by number. A row that ``where`` rules out meets
    none: what waits for it comes with the others that are left."""
    places = RowPlaces(waiting.rows)
    for start, whole in numbered(reader, there, where):
        places.start = start
        for batch in _with_room(iter([whole])):
            stored = widened(batch, encoded_as(schema, batch.schema), path)
            met = waiting.meet(stored, places.take(stored.num_rows))
            yield from _of_both(met, schema, path)


def _rows_of_keys(
    reader: FindsRows,
    there: Sequence[str],
    schema: pa.Schema,
    waiting: KeyJoin | None,
    path: str,
    asked: pa.Array,
) -> Iterator[pa.RecordBatch]:
    """The same of the rows that have one of the record keys ``asked``, each of which is read."""
    columns = [*there, *(n for n in (RECORD_KEY,) if n not in there)]
    where = pc.field(RECORD_KEY).isin(asked)
    for batch in matching_rows(reader, columns, [RECORD_KEY], where):
        stored = widened(batch.select(list(there)), schema, path)
        if waiting is None:
            yield stored
            continue
        met = waiting.meet(stored, waiting.places(batch.column(RECORD_KEY)))
        yield from _of_both(met, schema, path)


def _of_both(met: MatchResult, schema: pa.Schema, path: str) -> Iterator[pa.RecordBatch]:
    if met.kept.num_rows:
        yield widened(met.kept, schema, path)
    if met.winners is not None:
        yield from _batches(met.winners, schema)


def _stored_rows(
    waiting: KeyJoin, reader: BaseFileReader, schema: pa.Schema, where: pc.Expression | None
) -> Counts:
    """How many rows the file has of the key of each waiting row; 0 for rows that ``where`` rules
    out.

    Only the keys of row groups are read that can have one of the others.
    """
    counts, keys = np.zeros(waiting.rows.num_rows, np.int64), waiting.rows.column(RECORD_KEY)
    at = pa.array(np.arange(len(keys)))
    if where is not None:  # with their places, as a table without columns has no rows
        placed = waiting.rows.append_column(_AT, at).select([*schema.names, _AT])
        at = placed.cast(schema.append(pa.field(_AT, at.type))).filter(where).column(_AT)
    wanted = keys.take(at)
    if not len(wanted):
        return counts
    ends = pc.min_max(wanted)
    between = (pc.field(RECORD_KEY) >= ends["min"]) & (pc.field(RECORD_KEY) <= ends["max"])
    stored = (batch.column(0) for batch in reader.batches([RECORD_KEY], between))
    for places in waiting.places_ahead(stored):
        counts += np.bincount(np.asarray(places.drop_null()), minlength=len(counts))
    return counts


def _with_room(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """``batches``, in pieces if their dictionaries have long values that repeat: text of all rows
    has to fit."""
    for batch in batches:
        coded = [c.dictionary for c in batch.columns if pa.types.is_dictionary(c.type)]
        longest = max((pc.max(pc.binary_length(d)).as_py() or 0 for d in coded), default=0)
        step = max(1, _TEXT_BYTES // max(1, longest))
        yield from (batch.slice(at, step) for at in range(0, batch.num_rows, step))


def _batches(rows: pa.Table, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in rows.select(schema.names).combine_chunks().to_batches():
        if batch.num_rows:
            yield batch.cast(schema) if not batch.schema.equals(schema) else batch
