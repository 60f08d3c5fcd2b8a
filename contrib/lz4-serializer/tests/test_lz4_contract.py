"""The suite that every serializer runs, ours or a stranger's."""

from __future__ import annotations

import pytest
from hoodoo.hookspecs.serializer import Serializer
from hoodoo_lz4_serializer import Lz4Serializer
from hoodoo_rows.testing.contracts.serializer import SerializerContract, keyed


class TestLz4(SerializerContract):
    @pytest.fixture
    def serializer(self) -> Serializer:
        return Lz4Serializer()


@pytest.mark.parametrize("near", [False, True])
def test_it_compresses(near: bool) -> None:
    rows = keyed(5000)
    message = Lz4Serializer().bind(rows.schema, near).serialize(rows)
    assert len(message) < rows.nbytes / 2
