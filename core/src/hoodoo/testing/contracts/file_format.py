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
from pathlib import Path

import pyarrow as pa
import pytest

from hoodoo.errors import CorruptTableError, SchemaError
from hoodoo.hookspecs.file_format import BaseFileFormat, RewritesInPlace, UsesThreads
from hoodoo.model.meta import META_COLUMNS, RECORD_KEY
from hoodoo.storage.api import Storage
from hoodoo.testing.contracts.file_format_claims import ClaimsOfFiles, _check_keys
from hoodoo.testing.contracts.file_format_rows import FLAT, rows


def _named(table: pa.Table) -> pa.Table:
    at = table.schema.get_field_index("_hoodie_file_name")
    return table.set_column(at, table.schema.field(at), pa.array(["placed"] * table.num_rows))


def _with_dictionaries(table: pa.Table) -> pa.Table:
    for at, field in enumerate(table.schema):
        if pa.types.is_string(field.type) and field.name != RECORD_KEY:
            table = table.set_column(at, field.name, table.column(at).dictionary_encode())
    return table


class FileFormatContract(ClaimsOfFiles):
    """Subclass, and answer the fixture ``file_format``."""

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

    def test_pickles(self, file_format: BaseFileFormat, storage: Storage) -> None:
        again = pickle.loads(pickle.dumps(file_format))
        name = self._write(again, storage, FLAT, rows(FLAT, 5))
        with file_format.reader(storage, name) as reader:
            assert reader.num_rows == 5
