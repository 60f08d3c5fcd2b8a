"""What every base file format promises: :class:`hoodoo.hookspecs.file_format.BaseFileFormat` as
tests.

Usage::

    from hoodoo.testing.contracts.file_format import FileFormatContract

    class TestMine(FileFormatContract):
        @pytest.fixture
        def file_format(self):
            return MyFormat()

``file_format`` is the format as its factory makes it without settings; ``storage`` is an empty
local store unless the fixture is overridden. A format without nested columns sets ``nested =
False``.
"""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hoodoo.errors import CorruptTableError, SchemaError
from hoodoo.hookspecs.file_format import (
    BaseFileFormat,
    BaseFileReader,
    FindsValues,
    HasBaseRanges,
    HasColumnRanges,
    KnowsNulls,
    RewritesInPlace,
    StoresFilters,
    UsesThreads,
    key_filter,
    key_range,
)
from hoodoo.model.meta import META_COLUMNS, RECORD_KEY, with_meta
from hoodoo.storage.api import Storage
from hoodoo.testing.directory import DirectoryStorage

FLAT = pa.schema(
    [
        ("flag", pa.bool_()),
        ("small", pa.int32()),
        ("large", pa.int64()),
        ("single", pa.float32()),
        ("double", pa.float64()),
        ("text", pa.string()),
        ("raw", pa.binary()),
        ("day", pa.date32()),
        ("clock", pa.time64("us")),
        ("moment", pa.timestamp("us", "UTC")),
        ("price", pa.decimal128(15, 2)),
    ]
)
NESTED = pa.schema(
    [
        ("list", pa.list_(pa.field("element", pa.struct([("x", pa.int32()), ("y", pa.string())])))),
        ("map", pa.map_(pa.string(), pa.struct([("z", pa.float64())]))),
        ("struct", pa.struct([("inner", pa.struct([("deep", pa.list_(pa.int64()))]))])),
    ]
)


def rows(schema: pa.Schema, count: int, start: int = 0) -> pa.Table:
    """``count`` rows of ``schema``; each third value of a column without a meaning of its own is
    null."""
    numbers = range(start, start + count)
    made: dict[str, object] = {
        "flag": [None if i % 3 == 2 else i % 2 == 0 for i in numbers],
        "text": [None if i % 3 == 2 else f"tëxt-{i}" for i in numbers],
        "raw": [None if i % 3 == 2 else i.to_bytes(4, "big") for i in numbers],
        "list": [None if i % 3 == 2 else [{"x": i, "y": "a"}, None] * (i % 3) for i in numbers],
        "map": [None if i % 3 == 2 else [(f"k{i}", {"z": i / 2}), ("n", None)] for i in numbers],
        "struct": [
            None if i % 3 == 2 else {"inner": {"deep": [i, None] if i % 2 else []}} for i in numbers
        ],
        "_hoodie_record_key": [f"key-{i:08d}" for i in numbers],
        "_hoodie_commit_seqno": [f"20250101000000000_0_{i}" for i in numbers],
        "_hoodie_commit_time": ["20250101000000000"] * count,
        "_hoodie_partition_path": ["region=eu"] * count,
        "_hoodie_file_name": ["f-0_0-0-0_20250101000000000"] * count,
    }
    columns = []
    for field in schema:
        if field.name in made:
            columns.append(pa.array(made[field.name], field.type))
            continue
        plain = pa.array([None if i % 3 == 2 else i for i in numbers], pa.int64())
        between = pa.int32() if field.type in (pa.date32(),) else pa.int64()
        if pa.types.is_decimal(field.type):
            columns.append(plain.cast(pa.decimal128(19, 0)).cast(field.type))
        else:
            columns.append(plain.cast(between).cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _named(table: pa.Table) -> pa.Table:
    at = table.schema.get_field_index("_hoodie_file_name")
    return table.set_column(at, table.schema.field(at), pa.array(["placed"] * table.num_rows))


def _with_dictionaries(table: pa.Table) -> pa.Table:
    for at, field in enumerate(table.schema):
        if pa.types.is_string(field.type) and field.name != RECORD_KEY:
            table = table.set_column(at, field.name, table.column(at).dictionary_encode())
    return table


def _check_keys(reader: BaseFileReader, keys: pa.ChunkedArray) -> None:
    ends = key_range(reader)
    if ends is not None:
        known = pc.min_max(keys)
        assert ends[0] <= known["min"].as_py()
        assert ends[1] >= known["max"].as_py()
    filter_ = key_filter(reader)
    if filter_ is not None:
        assert pc.all(filter_.might_contain(keys)).as_py()


class FileFormatContract:
    """Subclass, and answer the fixture ``file_format``."""

    nested: ClassVar[bool] = True

    @pytest.fixture
    def file_format(self) -> BaseFileFormat:
        raise NotImplementedError("override the fixture `file_format`")

    @pytest.fixture
    def storage(self, tmp_path: Path) -> Storage:
        return DirectoryStorage(str(tmp_path / "store"))

    def _schema(self) -> pa.Schema:
        return with_meta(pa.schema([*FLAT, *(NESTED if self.nested else ())]))

    def _write(
        self, file_format: BaseFileFormat, storage: Storage, schema: pa.Schema, *parts: pa.Table
    ) -> str:
        name = f"f-0_0-0-0_20250101000000000{file_format.extension}"
        local = os.path.join(storage.scratch(), "under-construction")
        writer = file_format.writer(local, schema)
        for part in parts:
            writer.write(part)
        size = writer.close()
        assert size == os.path.getsize(local)
        assert storage.put_file_if_absent(name, local)
        return name

    def test_extension_starts_with_a_dot(self, file_format: BaseFileFormat) -> None:
        assert file_format.extension.startswith(".")
        assert "_" not in file_format.extension

    def test_rows_come_back_in_order_and_type(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        schema = self._schema()
        first, second = rows(schema, 700), rows(schema, 300, start=700)
        name = self._write(file_format, storage, schema, first, second)
        with file_format.reader(storage, name) as reader:
            assert reader.num_rows == 1000
            assert reader.schema.equals(schema)
            found = pa.Table.from_batches(list(reader.batches()), schema)
        expected = pa.concat_tables([first, second])
        assert found.combine_chunks().equals(expected.combine_chunks())

    def test_a_batch_or_a_table_may_be_written(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        schema = self._schema()
        table = rows(schema, 10)
        local = os.path.join(storage.scratch(), "batches")
        writer = file_format.writer(local, schema, expected_rows=10)
        for batch in table.to_batches(max_chunksize=3):
            writer.write(batch)
        writer.close()
        assert storage.put_file_if_absent("b" + file_format.extension, local)
        with file_format.reader(storage, "b" + file_format.extension) as reader:
            found = pa.Table.from_batches(list(reader.batches()), schema)
        assert found.combine_chunks().equals(table.combine_chunks())

    def test_a_file_that_replaces_another(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        """Rows that are kept, some as dictionaries, and new ones: all are there, in order."""
        schema = self._schema()
        old, new = rows(schema, 500), rows(schema, 30, start=500)
        name = self._write(file_format, storage, schema, old)
        local = os.path.join(storage.scratch(), "newer")
        with file_format.reader(storage, name) as base:
            writer = file_format.writer(local, schema, 530, base)
            for batch in base.batches(batch_rows=70, encoded=True):
                writer.write(batch, known=True)
            writer.write(new)
            writer.close()
        assert storage.put_file_if_absent("newer" + file_format.extension, local)
        with file_format.reader(storage, "newer" + file_format.extension) as reader:
            found = pa.Table.from_batches(list(reader.batches()), schema)
        expected = pa.concat_tables([old, new])
        assert found.combine_chunks().equals(expected.combine_chunks())

    def test_files_that_threads_write(self, file_format: BaseFileFormat, storage: Storage) -> None:
        """The same rows, and the same bytes for the same number of threads: a task that runs twice
        compares sizes."""
        if not isinstance(file_format, UsesThreads):
            return
        schema = self._schema()
        table = rows(schema, 900)
        for threads in (1, 2, 40):
            written = []
            for again in (1, 2):
                local = os.path.join(storage.scratch(), f"{threads}-{again}")
                writer = file_format.with_threads(threads).writer(local, schema, 900)
                for start in range(0, 900, 300):
                    writer.write(_with_dictionaries(table.slice(start, 300)))
                    writer.flush()
                writer.close()
                written.append(Path(local).read_bytes())
                name = f"{threads}-{again}{file_format.extension}"
                assert storage.put_file_if_absent(name, local)
                with file_format.reader(storage, name) as reader:
                    found = pa.Table.from_batches(list(reader.batches()), schema)
                    _check_keys(reader, table[RECORD_KEY])
                assert found.combine_chunks().equals(table.combine_chunks())
            assert written[0] == written[1]

    def test_parts_of_a_file_that_are_kept(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        """Rows stay in their places or get others, parts are left out, and rows come between
        them."""
        if not isinstance(file_format, RewritesInPlace):
            return
        own = self._schema()
        schema = own.append(pa.field("filling", pa.binary()))
        draw = random.Random(1).randbytes  # a file that is large enough to be worth it
        filling = pa.array([draw(1800) for _ in range(2400)])
        old = rows(own, 2400).append_column(schema.field("filling"), filling)
        name = f"old-0_0-0-0_20250101000000000{file_format.extension}"
        local = os.path.join(storage.scratch(), "old")
        first = file_format.writer(local, schema)
        for start in range(0, 2400, 400):
            first.write(old.slice(start, 400))
            first.flush()
        first.close()
        assert storage.put_file_if_absent(name, local)
        local, named = os.path.join(storage.scratch(), "placed"), {"_hoodie_file_name": "placed"}
        with file_format.reader(storage, name) as base:
            writer = file_format.in_place(local, schema, 2430, base, named)
            if writer is None:  # it is better to write the whole file
                return
            counts = [part.num_rows for part in writer.parts]
            assert sum(counts) == 2400
            expected, start = [], 0
            for number, part in enumerate(writer.parts):
                stored = old.slice(start, counts[number])
                start += counts[number]
                keys = [key for b in part.batches([RECORD_KEY]) for key in b.column(0).to_pylist()]
                assert keys == stored[RECORD_KEY].to_pylist()
                if number % 3 == 2:  # some of its rows go
                    writer.write(_named(stored.slice(3)), known=True)
                    expected.append(stored.slice(3))
                elif number % 3 == 1:
                    writer.keep(number)
                    expected.append(stored)
                else:
                    at = list(range(0, len(stored), 7))
                    came = rows(own, len(at), start=9000 + number)
                    place = own.get_field_index(RECORD_KEY)
                    came = came.set_column(place, RECORD_KEY, stored[RECORD_KEY].take(at))
                    writer.keep(number, pa.array(at), _named(came))  # it lacks a column
                    whole = came.append_column(schema.field("filling"), stored["filling"].take(at))
                    order = [
                        len(stored) + place // 7 if place % 7 == 0 else place
                        for place in range(len(stored))
                    ]
                    expected.append(pa.concat_tables([stored, whole]).take(order))
            more = rows(own, 30, start=5000)
            more = more.append_column(schema.field("filling"), pa.nulls(30, pa.binary()))
            writer.write(_named(more))
            expected.append(more)
            assert writer.close() == os.path.getsize(local)
        assert storage.put_file_if_absent("placed" + file_format.extension, local)
        with file_format.reader(storage, "placed" + file_format.extension) as reader:
            found = pa.Table.from_batches(list(reader.batches()), schema).combine_chunks()
            assert found.equals(_named(pa.concat_tables(expected)).combine_chunks())
            _check_keys(reader, found[RECORD_KEY])

    def test_encoded_batches_hold_the_same_values(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        schema = self._schema()
        table = rows(schema, 1000)
        name = self._write(file_format, storage, schema, table)
        with file_format.reader(storage, name) as reader:
            found = [b.cast(schema) for b in reader.batches(batch_rows=300, encoded=True)]
        assert pa.Table.from_batches(found).combine_chunks().equals(table.combine_chunks())

    def test_what_is_written_so_far_is_nearly_what_the_file_would_be(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        """Footer included. Rows that wait count once they are flushed; a flush without rows is
        none."""
        schema = self._schema()
        for parts in (1, 4):
            local = os.path.join(storage.scratch(), f"measured-{parts}")
            writer = file_format.writer(local, schema)
            seen = [writer.written]
            for part in range(parts):
                writer.write(rows(schema, 5000, 5000 * part))
                seen.append(writer.flush())
            assert seen == sorted(seen)
            assert writer.written == writer.flush() == seen[-1]
            size = writer.close()
            assert abs(seen[-1] - size) < 0.05 * size

    def test_rows_are_all_there_whatever_was_flushed(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        schema = self._schema()
        table = rows(schema, 900)
        local = os.path.join(storage.scratch(), "flushed")
        writer = file_format.writer(local, schema)
        for start in range(0, 900, 300):
            writer.write(table.slice(start, 200))
            writer.flush()
            writer.write(table.slice(start + 200, 100))
        writer.close()
        assert storage.put_file_if_absent("flushed" + file_format.extension, local)
        with file_format.reader(storage, "flushed" + file_format.extension) as reader:
            found = pa.Table.from_batches(list(reader.batches()), schema)
        assert found.combine_chunks().equals(table.combine_chunks())

    def test_another_schema_is_refused(self, file_format: BaseFileFormat, storage: Storage) -> None:
        writer = file_format.writer(os.path.join(storage.scratch(), "refused"), FLAT)
        wrong = rows(FLAT, 3)
        wrong = wrong.set_column(1, "small", pa.array(["a", "b", "c"]))
        with pytest.raises(SchemaError, match="small"):
            writer.write(wrong)
        writer.close()

    def test_no_rows(self, file_format: BaseFileFormat, storage: Storage) -> None:
        schema = self._schema()
        name = self._write(file_format, storage, schema)
        with file_format.reader(storage, name) as reader:
            assert reader.num_rows == 0
            assert reader.schema.equals(schema)
            assert sum(b.num_rows for b in reader.batches()) == 0

    def test_chosen_columns_come_in_the_order_asked_for(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        schema = self._schema()
        name = self._write(file_format, storage, schema, rows(schema, 50))
        with file_format.reader(storage, name) as reader:
            found = list(reader.batches(["text", "absent", RECORD_KEY]))
        assert {tuple(b.schema.names) for b in found} == {("text", RECORD_KEY)}
        assert sum(b.num_rows for b in found) == 50

    @pytest.mark.parametrize("columns", [[], ["absent"]])
    def test_without_columns_the_rows_are_still_counted(
        self, file_format: BaseFileFormat, storage: Storage, columns: list[str]
    ) -> None:
        name = self._write(file_format, storage, FLAT, rows(FLAT, 50))
        with file_format.reader(storage, name) as reader:
            found = list(reader.batches(columns, batch_rows=20))
        assert sum(b.num_rows for b in found) == 50
        assert all(b.num_columns == 0 for b in found)

    def test_batches_have_at_most_the_rows_asked_for(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        name = self._write(file_format, storage, FLAT, rows(FLAT, 100))
        with file_format.reader(storage, name) as reader:
            assert max(b.num_rows for b in reader.batches(batch_rows=16)) <= 16

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

    def test_what_is_no_file_of_the_format_is_named(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        name = "broken-0_0_1" + file_format.extension
        for content in (b"", b"not a base file", b"PAR1" * 100):
            storage.put(name, content)
            with pytest.raises(CorruptTableError, match="broken-0_0_1"):
                file_format.reader(storage, name)

    def test_a_missing_file_is_named(self, file_format: BaseFileFormat, storage: Storage) -> None:
        with pytest.raises(CorruptTableError, match="absent-0_0_1"):
            file_format.reader(storage, "absent-0_0_1" + file_format.extension)

    def test_a_truncated_file_gives_no_rows_silently(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        schema = self._schema()
        name = self._write(file_format, storage, schema, rows(schema, 100))
        whole = storage.get(name)
        for size in (len(whole) - 1, len(whole) // 2, 10):
            storage.put(name, whole[:size])
            with pytest.raises(CorruptTableError):
                with file_format.reader(storage, name) as reader:
                    list(reader.batches())

    def test_metadata_columns_alone(self, file_format: BaseFileFormat, storage: Storage) -> None:
        schema = self._schema()
        table = rows(schema, 20)
        name = self._write(file_format, storage, schema, table)
        with file_format.reader(storage, name) as reader:
            found = pa.Table.from_batches(list(reader.batches(META_COLUMNS)))
            assert all(isinstance(k, str) for k in reader.metadata)
        assert found.combine_chunks().equals(table.select(META_COLUMNS).combine_chunks())

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

    def test_columns_may_come_in_another_order(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        """Writes hand over the name of the file last; columns are found by their names."""
        schema = self._schema()
        table = rows(schema, 40)
        first, *rest = schema.names
        name = self._write(file_format, storage, schema, table.select([*rest[::-1], first]))
        with file_format.reader(storage, name) as reader:
            found = pa.Table.from_batches(list(reader.batches()), schema)
        assert found.combine_chunks().equals(table.combine_chunks())

    def test_strings_may_come_as_dictionaries(
        self, file_format: BaseFileFormat, storage: Storage
    ) -> None:
        """Of several batches, each with a dictionary of its own."""
        schema = self._schema()
        parts = [rows(schema, 40, start) for start in (0, 40)]
        name = self._write(file_format, storage, schema, *map(_with_dictionaries, parts))
        with file_format.reader(storage, name) as reader:
            found = pa.Table.from_batches(list(reader.batches()), schema)
        assert found.combine_chunks().equals(pa.concat_tables(parts).combine_chunks())

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

    def test_pickles(self, file_format: BaseFileFormat, storage: Storage) -> None:
        again = pickle.loads(pickle.dumps(file_format))
        name = self._write(again, storage, FLAT, rows(FLAT, 5))
        with file_format.reader(storage, name) as reader:
            assert reader.num_rows == 5
