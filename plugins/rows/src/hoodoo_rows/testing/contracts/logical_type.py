"""What every logical type promises: :class:`hoodoo.hookspecs.logical_type.LogicalType` as tests.

Usage::

    class TestMine(LogicalTypeContract):
        family_name = "vector"  # as registered

        @pytest.fixture
        def declared(self):
            # Texts of types, and what may be declared so.
            return {"VECTOR(2)": pa.list_(pa.float32(), 2)}

        @pytest.fixture
        def values(self):
            return {"VECTOR(2)": [[1.0, 2.0], None]}  # of each, as Python has them

        @pytest.fixture
        def wrong(self):
            # What is of the type, and may not be written.
            return {"VECTOR(2)": [[1.0, float("nan")]]}
"""

from __future__ import annotations

import json
import pickle
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from hoodoo.errors import SchemaError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import resolve
from hoodoo.model.schema import logical
from hoodoo.model.schema.avro import arrow_schema, avro_text

from hoodoo_rows.model.conform import conform_array
from hoodoo_rows.model.normalize import normalise_schema, plain_schema


class LogicalTypeContract:
    """Subclass, set ``family_name``; answer the fixtures ``declared``, ``values``, ``wrong``."""

    family_name: ClassVar[str]

    @pytest.fixture
    def own(self) -> Any:
        return resolve("logical_type", self.family_name, Settings()).instance

    @pytest.fixture
    def declared(self) -> dict[str, pa.DataType]:
        raise NotImplementedError("override the fixture `declared`")

    @pytest.fixture
    def values(self) -> dict[str, list[Any]]:
        raise NotImplementedError("override the fixture `values`")

    @pytest.fixture
    def wrong(self) -> dict[str, list[Any]]:
        raise NotImplementedError("override the fixture `wrong`")

    def test_its_name_is_the_one_it_is_registered_under(self, own: Any) -> None:
        assert own.name == self.family_name
        offer = kernel().find("logical_type", own.name)
        assert offer is not None and offer.name == own.name

    def test_a_type_in_memory_says_what_it_is(self, own: Any, declared: Any) -> None:
        for text, kind in declared.items():
            found = own.declared(text, kind, "v")
            assert logical.text_of(found) == text
            assert logical.of(found) is not None
            assert own.declared(text, found, "v") == found

    def test_it_stays_what_it_is_wherever_it_goes(self, own: Any, declared: Any) -> None:
        """Through the door, pickled for a task, as Avro of a commit."""
        for text, kind in declared.items():
            field = pa.field("v", kind, metadata={logical.MARK: text})
            schema = normalise_schema(pa.schema([field]), {})
            again = pickle.loads(pickle.dumps(schema))
            read = arrow_schema(avro_text(again, "t"))
            for one in (schema, again, plain_schema(again), read):
                assert logical.text_of(one.field("v").type) == text
                assert one.field("v").type == schema.field("v").type

    def test_avro_has_its_name(self, own: Any, declared: Any) -> None:
        for text, kind in declared.items():
            found = own.declared(text, kind, "v")
            avro = own.avro(found)
            assert json.loads(json.dumps(avro))["logicalType"] == self.family_name
            assert own.of_avro(avro, "v") == found

    def test_two_columns_of_one_type_have_one_definition(self, own: Any, declared: Any) -> None:
        for text, kind in declared.items():
            found = own.declared(text, kind, "v")
            schema = pa.schema([("v", found), ("w", found)])
            assert avro_text(schema, "t").count('"logicalType"') == 1
            assert arrow_schema(avro_text(schema, "t")).field("w").type == found

    def test_values_come_back_from_files(self, own: Any, declared: Any, values: Any) -> None:
        for text, kind in declared.items():
            found = own.declared(text, kind, "v")
            array = conform_array(pa.array(values[text], kind), pa.field("v", found), "v")
            array = own.written(array, found, "v")
            array = pa.concat_arrays([array, array]).slice(1)  # offsets are not always 0
            stored = own.to_stored(array, found)
            assert stored.type == own.stored(found)
            stored.validate(full=True)
            again = own.conform(stored, found, "v")
            assert again.to_pylist() == array.to_pylist()
            assert again.type == found
            assert conform_array(pa.nulls(3), pa.field("v", found), "v").null_count == 3
            assert len(own.to_stored(array.slice(0, 0), found)) == 0

    def test_what_python_has_and_what_reads_give(
        self, own: Any, declared: Any, values: Any
    ) -> None:
        for text, kind in declared.items():
            found = own.declared(text, kind, "v")
            array = own.of_python(pa.array(values[text], kind).to_pylist(), found, "v")
            assert array.type == found
            assert len(array) == len(values[text])
            shown = own.shown(found)
            is_extension = isinstance(shown, pa.ExtensionType)
            assert (shown.storage_type if is_extension else shown) == found

    def test_what_may_not_be_written_is_refused(self, own: Any, declared: Any, wrong: Any) -> None:
        for text, rows in wrong.items():
            found = own.declared(text, declared[text], "v")
            for row in rows:
                array = pa.array([row], found)
                with pytest.raises(SchemaError, match="column v"):
                    own.written(array, found, "v")

    def test_what_is_no_such_type_is_refused(self, own: Any, declared: Any) -> None:
        for text in declared:
            with pytest.raises(SchemaError, match="column v"):
                own.declared(text, pa.date32(), "v")
        for found in (own.declared(text, kind, "v") for text, kind in declared.items()):
            with pytest.raises(SchemaError, match="column v"):
                conform_array(pa.array([1.5]), pa.field("v", found), "v")

    def test_the_footer_is_text(self, own: Any, declared: Any) -> None:
        kinds = {f"c{i}": own.declared(t, k, "v") for i, (t, k) in enumerate(declared.items())}
        found = own.footer(kinds)
        assert all(isinstance(text, str) for pair in found.items() for text in pair)
