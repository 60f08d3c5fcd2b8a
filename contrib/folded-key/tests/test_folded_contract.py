"""The suite that every key generator runs, ours or a stranger's."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hoodoo.errors import MissingColumnError, NullKeyError
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.testing.contracts.key_generator import KeyGeneratorContract
from hoodoo_folded_key import FoldedKey


class TestFoldedKey(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return FoldedKey("email")


def keys(values: list[str | None], **how: bool) -> list[str]:
    batch = pa.record_batch({"email": pa.array(values, pa.string())})
    found: list[str] = FoldedKey("email", **how).record_keys(batch).to_pylist()
    return found


def test_upper_and_lower_case_are_the_same() -> None:
    assert keys(["Ada@X.org", " ada@x.ORG\t", "ÄRA"]) == ["ada@x.org", "ada@x.org", "ära"]
    assert keys([" Ada "], keep_blanks=True) == [" ada "]


@pytest.mark.parametrize("value", [None, "", "  "])
def test_no_key(value: str | None) -> None:
    with pytest.raises(NullKeyError, match="column email"):
        keys(["ada", value])


def test_names_the_column_it_misses() -> None:
    with pytest.raises(MissingColumnError, match="column email"):
        FoldedKey("email").record_keys(pa.record_batch({"name": ["a"]}))
