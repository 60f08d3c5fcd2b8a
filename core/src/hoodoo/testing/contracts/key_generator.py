"""What every key generator promises: :class:`hoodoo.hookspecs.key_generator.KeyGenerator` as tests.

Usage::

    class TestMine(KeyGeneratorContract):
        @pytest.fixture
        def key_generator(self):
            return MyKeyGenerator(...)

The suite makes rows with string columns named like the generator's fields. A generator that wants
other types (or nested fields) answers the fixture ``rows`` too: at least four rows, keys all
different, and two partition paths if there are partition fields.

One whose keys are not in columns (:class:`~hoodoo.hookspecs.key_generator.GeneratesKeys`) is asked
about the keys that it makes of instant, task and place.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hoodoo.errors import HoodooError, MissingColumnError, NullKeyError
from hoodoo.hookspecs.key_generator import (
    GeneratesKeys,
    KeyGenerator,
    can_be_virtual,
    deletes_only,
    table_properties,
)
from hoodoo.testing.another_process import answered

_ROWS = 8


class KeyGeneratorContract:
    """Subclass, and answer the fixture ``key_generator``."""

    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        raise NotImplementedError("override the fixture `key_generator`")

    @pytest.fixture
    def rows(self, key_generator: KeyGenerator) -> pa.RecordBatch:
        columns = {
            name: pa.array([f"{name}{i % 3} ü" for i in range(_ROWS)])
            for name in key_generator.partition_fields
        }
        for name in key_generator.record_key_fields:
            columns[name] = pa.array([f"{name}-{i}" for i in range(_ROWS)])
        columns["other"] = pa.array(range(_ROWS))
        return pa.RecordBatch.from_pydict(columns)

    def test_obeys_the_protocol(self, key_generator: KeyGenerator) -> None:
        assert isinstance(key_generator, KeyGenerator)
        for names in (key_generator.record_key_fields, key_generator.partition_fields):
            assert isinstance(names, tuple) and all(isinstance(n, str) for n in names)

    def test_answers_strings_without_nulls(
        self, key_generator: KeyGenerator, rows: pa.RecordBatch
    ) -> None:
        keys = _keys(key_generator, rows)
        for answer in (keys, key_generator.partition_paths(rows)):
            assert isinstance(answer, pa.Array) and answer.type == pa.string()
            assert len(answer) == rows.num_rows and answer.null_count == 0
        assert not pc.any(pc.equal(keys, "")).as_py()

    def test_different_rows_have_different_keys(
        self, key_generator: KeyGenerator, rows: pa.RecordBatch
    ) -> None:
        assert len(pc.unique(_keys(key_generator, rows))) == rows.num_rows

    def test_partition_paths_are_directories_below_the_table(
        self, key_generator: KeyGenerator, rows: pa.RecordBatch
    ) -> None:
        found = set(key_generator.partition_paths(rows).to_pylist())
        if not key_generator.partition_fields:
            assert found == {""}
        else:
            assert len(found) > 1
            for path in found:
                assert not {"", ".", ".."} & set(path.split("/")), path

    def test_answers_the_same_again_elsewhere_and_in_pieces(
        self, key_generator: KeyGenerator, rows: pa.RecordBatch
    ) -> None:
        other = pickle.loads(pickle.dumps(key_generator))
        half = rows.num_rows // 2

        def paths(keys: KeyGenerator, some: pa.RecordBatch, first_row: int = 0) -> pa.Array:
            return keys.partition_paths(some)

        for ask in (_keys, paths):
            whole = ask(key_generator, rows)
            assert ask(other, rows) == whole
            # A slice starts in the middle of its buffers, which careless code forgets.
            parts = [ask(other, rows.slice(0, half)), ask(other, rows.slice(half), half)]
            assert pa.concat_arrays(parts) == whole
            assert len(ask(key_generator, rows.slice(0, 0))) == 0
        found = answered(key_generator, "partition_paths", rows, paths(key_generator, rows))
        assert found == paths(key_generator, rows), "another process makes other partition paths"
        if not isinstance(key_generator, GeneratesKeys):
            keys = key_generator.record_keys(rows)
            found = answered(key_generator, "record_keys", rows, keys)
            assert found == keys, "another process makes other keys"

    def test_order_and_number_of_columns_do_not_matter(
        self, key_generator: KeyGenerator, rows: pa.RecordBatch
    ) -> None:
        turned = rows.select(rows.schema.names[::-1])
        more = turned.append_column("zz", pa.nulls(rows.num_rows))
        assert _keys(key_generator, more) == _keys(key_generator, rows)
        assert key_generator.partition_paths(more) == key_generator.partition_paths(rows)

    def test_what_it_may_say_besides(self, key_generator: KeyGenerator) -> None:
        told = table_properties(key_generator)
        assert all(isinstance(text, str) for pair in told.items() for text in pair)
        if deletes_only(key_generator):
            assert not key_generator.partition_fields
        if can_be_virtual(key_generator):
            assert key_generator.record_key_fields

    def test_generated_keys_are_of_instant_task_and_place(
        self, key_generator: KeyGenerator
    ) -> None:
        if not isinstance(key_generator, GeneratesKeys):
            pytest.skip("its keys are made of columns")
        assert key_generator.record_key_fields == ()
        instants = ("20240102030405678", "20240102030405679")
        places = [(i, task, row) for i in instants for task in (0, 1, 11) for row in (0, 5)]
        made = [key_generator.generated_keys(5, *place) for place in places]
        assert made == [key_generator.generated_keys(5, *place) for place in places]
        assert len(pc.unique(pa.concat_arrays(made))) == 5 * len(places)

    def test_missing_columns_are_named(
        self, key_generator: KeyGenerator, rows: pa.RecordBatch
    ) -> None:
        for fields, ask in (
            (key_generator.record_key_fields, key_generator.record_keys),
            (key_generator.partition_fields, key_generator.partition_paths),
        ):
            for field in fields:
                top = field if field in rows.schema.names else field.split(".")[0]
                with pytest.raises(MissingColumnError) as caught:
                    ask(rows.select([n for n in rows.schema.names if n != top]))
                assert field in str(caught.value)

    def test_a_key_without_any_value_is_refused(
        self, key_generator: KeyGenerator, rows: pa.RecordBatch
    ) -> None:
        if not key_generator.record_key_fields:
            pytest.skip("its keys are not made of columns")
        broken = _nulled(rows, key_generator.record_key_fields, at=2)
        with pytest.raises(NullKeyError) as caught:
            key_generator.record_keys(broken)
        for field in key_generator.record_key_fields:
            assert field in str(caught.value)

    def test_a_null_partition_value_has_a_path(
        self, key_generator: KeyGenerator, rows: pa.RecordBatch
    ) -> None:
        paths = key_generator.partition_paths(_nulled(rows, key_generator.partition_fields, at=2))
        assert paths.null_count == 0
        assert bool(paths[2].as_py()) is bool(key_generator.partition_fields)

    def test_partition_values_are_true_of_every_row(
        self, key_generator: KeyGenerator, rows: pa.RecordBatch
    ) -> None:
        nulled = _nulled(rows, key_generator.partition_fields, at=0)
        for some in (rows, nulled, *_varied(rows, key_generator.partition_fields)):
            try:
                paths = key_generator.partition_paths(some).to_pylist()
            except HoodooError:
                continue  # rows with such values are refused
            for path, row in zip(paths, some.to_pylist(), strict=True):
                for name, value in (
                    key_generator.partition_values(path, some.schema) or {}
                ).items():
                    stored = row
                    for part in [name] if name in row else name.split("."):
                        stored = stored[part]
                    assert stored == value and type(stored) is type(value)

    def test_partition_values_of_a_foreign_path_are_no_failure(
        self, key_generator: KeyGenerator, rows: pa.RecordBatch
    ) -> None:
        for path in ("a/b/c/d/e/f/g", "%ZZ", "=", "__HIVE_DEFAULT_PARTITION__"):
            found = key_generator.partition_values(path, rows.schema)
            assert found is None or set(found) <= set(key_generator.partition_fields)


def _keys(generator: KeyGenerator, rows: pa.RecordBatch, first_row: int = 0) -> pa.Array:
    if isinstance(generator, GeneratesKeys):
        return generator.generated_keys(rows.num_rows, "20240102030405678", 3, first_row)
    return generator.record_keys(rows)


def _varied(rows: pa.RecordBatch, fields: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """``rows`` with other values in the top-level columns of ``fields``, each of which may have the
    path of another one: texts in other letters, with spaces and signs around them, and parts of a
    time."""
    texts: list[Callable[[pa.Array], pa.Array]] = [
        pc.utf8_upper, pc.utf8_lower, pc.utf8_capitalize,
        lambda c: pc.binary_join_element_wise(" ", c, " ", ""),
        lambda c: pc.binary_join_element_wise(c, "%2F", ""),
        lambda c: pc.binary_join_element_wise(c, "__HIVE", ""),
        lambda c: pc.binary_join_element_wise("0", c, ""),
    ]  # fmt: skip
    parts = [pa.scalar(one, pa.duration("s")) for one in (1, 3599, 86399)]
    for name in (field for field in fields if field in rows.schema.names):
        at, column = rows.schema.get_field_index(name), rows.column(name)
        made: list[pa.Array] = []
        if pa.types.is_string(column.type):
            made = [change(column) for change in texts]
        elif pa.types.is_timestamp(column.type):
            made = [pc.add(column, part).cast(column.type) for part in parts]
        elif pa.types.is_integer(column.type):
            made = [pc.add(column, pa.scalar(more, column.type)) for more in (1, 7, 100)]
        for other in made:
            yield rows.set_column(at, rows.schema.field(at), other)


def _nulled(rows: pa.RecordBatch, fields: tuple[str, ...], at: int) -> pa.RecordBatch:
    """``rows`` with the columns of ``fields`` null in row ``at``."""
    columns = {}
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if any(f == name or f.split(".")[0] == name for f in fields):
            mask = pa.array([i != at for i in range(rows.num_rows)])
            column = pc.if_else(mask, column, pa.scalar(None, column.type))
        columns[name] = column
    return pa.RecordBatch.from_pydict(columns)
