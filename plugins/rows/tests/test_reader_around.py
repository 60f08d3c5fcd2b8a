"""Readers around another reader pass on what the inner one says of the file, and close it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from attrs import define, field
from hoodoo.errors import CorruptTableError
from hoodoo.storage.api import of_size
from hoodoo_rows.evolution.files import EvolvedReader
from hoodoo_rows.evolution.names import Names
from hoodoo_rows.merge.virtual import KeyedReader
from hoodoo_rows.read.external import WithConstants


@define
class Inner:
    """A reader of two rows, whose format does not know the bytes of a file."""

    schema: pa.Schema = field(factory=lambda: pa.schema([("fare", pa.int64())]))
    num_rows: int = 2
    metadata: dict[str, str] = field(factory=lambda: {"made.by": "test"})
    closed: int = 0

    def batches(self, *_args: Any) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"fare": [1, 2]})

    def close(self) -> None:
        self.closed += 1


class Sized(Inner):
    def size(self) -> int:
        return 77


Around = Callable[[Any], Any]
KINDS: dict[str, Around] = {
    "virtual keys": lambda inner: KeyedReader(inner, None, "2024/a.parquet"),
    "constants": lambda inner: WithConstants(inner, {"day": pa.scalar("2024")}),
    "earlier names": lambda inner: EvolvedReader(inner, Names({}, frozenset(), frozenset(), {})),
}


@pytest.fixture(params=KINDS.values(), ids=list(KINDS))
def around(request: pytest.FixtureRequest) -> Around:
    return request.param


def test_what_is_said_of_the_file_is_passed_on(around: Around) -> None:
    inner = Sized()
    with around(inner) as reader:
        assert reader.num_rows == 2
        assert reader.metadata == {"made.by": "test"}
        assert reader.size() == 77
        assert not inner.closed
    assert inner.closed == 1


def test_a_file_of_another_size_is_refused(around: Around) -> None:
    with pytest.raises(CorruptTableError, match="77 bytes, and .* says 78"):
        of_size(around(Sized()), "2024/a.parquet", 78)


def test_a_reader_that_knows_no_size_is_asked_for_none(around: Around) -> None:
    reader = around(Inner())
    assert not hasattr(reader, "size")
    assert of_size(reader, "2024/a.parquet", 78) is reader
