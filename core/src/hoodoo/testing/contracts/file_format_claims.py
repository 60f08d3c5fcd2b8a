"""What a base file says of itself has to be true of its rows: ranges, keys, filters."""

from __future__ import annotations

import os
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs.file_format import (
    BaseFileFormat,
    BaseFileReader,
    FindsValues,
    HasBaseRanges,
    HasColumnRanges,
    KnowsNulls,
    StoresFilters,
    key_filter,
    key_range,
)
from hoodoo.model.meta import RECORD_KEY
from hoodoo.storage.api import Storage
from hoodoo.testing.contracts.file_format_rows import FLAT, WritesFiles, rows


def _check_keys(reader: BaseFileReader, keys: pa.ChunkedArray) -> None:
    ends = key_range(reader)
    if ends is not None:
        known = pc.min_max(keys)
        assert ends[0] <= known["min"].as_py()
        assert ends[1] >= known["max"].as_py()
    filter_ = key_filter(reader)
    if filter_ is not None:
        assert pc.all(filter_.might_contain(keys)).as_py()


class ClaimsOfFiles(WritesFiles):
    """Ranges, keys and filters of files, of formats that have them."""

    # Functions, as a comparison imports pandas where there is one.
    @pytest.mark.parametrize(
        "make_where",
        [
            lambda: pc.field("large") == 7,
            lambda: pc.field("large") > 10_000,
            lambda: pc.field("absent") == 1,
            lambda: (pc.field("absent") == 1) & (pc.field("large") == 7),
            lambda: (pc.field("absent").is_null()) & (pc.field("large") == 7),
            lambda: pc.field("text").is_null(),
            lambda: pc.field("large").is_null() | (pc.field("small") < 5),
            lambda: pc.field("moment") == pa.scalar(7, pa.timestamp("us", "UTC")),
        ],
    )
    def test_pruning_never_loses_a_matching_row(
        self, file_format: BaseFileFormat, storage: Storage, make_where: Callable[[], pc.Expression]
    ) -> None:
        where = make_where()
        table = rows(FLAT, 1000)
        name = self._write(file_format, storage, FLAT, table)
        with file_format.reader(storage, name) as reader:
            found = pa.Table.from_batches(list(reader.batches(where=where)), FLAT)
        # A column that the file lacks is null in every row.
        absent = pa.nulls(len(table), pa.int64())
        expected = table.append_column("absent", absent).filter(where)
        kept = found.append_column("absent", absent.slice(0, len(found))).filter(where)
        assert kept.equals(expected)

    def test_statistics_of_nan_prune_nothing_wrongly(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        schema = pa.schema([("v", pa.float64())])
        table = pa.table({"v": [1.0, 1.0, float("nan")]}, schema)
        name = self._write(file_format, storage, schema, table)
        for where in (pc.field("v") != 1.0, ~(pc.field("v") <= 1.0), pc.is_nan(pc.field("v"))):
            with file_format.reader(storage, name) as reader:
                found = pa.Table.from_batches(list(reader.batches(where=where)), schema)
            assert len(found.filter(where)) == 1, str(where)

    def test_ranges_hold_every_value(self, file_format: BaseFileFormat, storage: Storage) -> None:
        """Of a format that knows ranges; another one promises nothing."""
        if not isinstance(file_format, HasColumnRanges):
            return
        table = rows(FLAT, 100)
        name = self._write(file_format, storage, FLAT, table)
        found = file_format.column_ranges(storage, name, [*FLAT.names, "absent"])
        assert "absent" not in found
        for column, bounds in found.items():
            assert bounds.nulls == table[column].null_count
            if bounds.least is None or bounds.greatest is None:
                continue
            ends = pc.min_max(table[column])
            assert bounds.least.type == bounds.greatest.type == FLAT.field(column).type
            assert pc.less_equal(bounds.least, ends["min"]).as_py()
            assert pc.greater_equal(bounds.greatest, ends["max"]).as_py()

    def test_one_look_says_what_the_rows_say(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        """Of a format that has :class:`~hoodoo.hookspecs.file_format.HasBaseRanges`."""
        if not isinstance(file_format, HasBaseRanges):
            return
        schema = self._schema()
        table = rows(schema, 100)
        name = self._write(file_format, storage, schema, table)
        found = file_format.base_ranges(storage, name, [*schema.names, "absent"])
        assert found.rows == 100 and "absent" not in found.ranges
        keys = pc.min_max(table[RECORD_KEY])
        assert found.keys in (None, (keys["min"].as_py(), keys["max"].as_py()))
        flat = {f.name for f in schema if not pa.types.is_nested(f.type)}
        assert flat <= found.columns
        for column, known in found.ranges.items():
            assert known.column == column and known.nulls == table[column].null_count

    def test_no_key_of_the_file_is_denied(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        """What a file says of its keys (:class:`~hoodoo.hookspecs.file_format.KnowsKeys`, or the
        footer), of one that replaces another, too. Saying nothing is fine."""
        schema = self._schema()
        old, new = rows(schema, 300), rows(schema, 100, start=300)
        name = self._write(file_format, storage, schema, old)
        local = os.path.join(storage.scratch(), "with-keys")
        with file_format.reader(storage, name) as base:
            _check_keys(base, old.column(RECORD_KEY))
            writer = file_format.writer(local, schema, 300, base)
            for batch in base.batches():
                writer.write(batch.slice(100), known=True)
            writer.write(new)
            writer.close()
        assert storage.put_file_if_absent("with-keys" + file_format.extension, local)
        with file_format.reader(storage, "with-keys" + file_format.extension) as reader:
            kept = pa.concat_tables([old.slice(100), new]).column(RECORD_KEY)
            _check_keys(reader, kept)
            if isinstance(reader, KnowsNulls):
                named = [n for n in reader.schema.names if reader.without_nulls([n])]
                assert not any(c.null_count for b in reader.batches(named) for c in b.columns)
                assert not reader.without_nulls([RECORD_KEY, "no such column"])
            if isinstance(reader, FindsValues):
                near = kept.take([0, 150, 299])
                found = list(reader.batches_near(RECORD_KEY, near))
                assert all(b.schema.names == [RECORD_KEY] for b in found)
                met = pa.chunked_array([b.column(0) for b in found], pa.string())
                assert pc.all(pc.is_in(near, met.combine_chunks())).as_py()

    def test_a_filter_may_be_stored_elsewhere(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        """Of a format that has :class:`~hoodoo.hookspecs.file_format.StoresFilters`."""
        if not isinstance(file_format, StoresFilters):
            return
        schema = self._schema()
        table = rows(schema, 300)
        name = self._write(file_format, storage, schema, table)
        stored = file_format.stored_filter(storage, name)
        if stored is not None:
            assert stored.path == name and stored == file_format.stored_filter(storage, name)
            known = file_format.opened_filter(stored).might_contain(table.column(RECORD_KEY))
            assert pc.all(known).as_py()
        with pytest.raises(CorruptTableError, match="absent-0_0_1"):
            file_format.stored_filter(storage, "absent-0_0_1" + file_format.extension)

    def test_rows_without_stored_keys_say_nothing_of_them(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        schema = self._schema()
        table = rows(schema, 10)
        at = schema.get_field_index(RECORD_KEY)
        name = self._write(
            file_format,
            storage,
            schema,
            table.set_column(at, RECORD_KEY, pa.nulls(10, pa.string())),
        )
        with file_format.reader(storage, name) as reader:
            assert key_range(reader) is None
