"""Small-file packing and new files only."""

from __future__ import annotations

import pytest
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.layout import Layout, Slot
from hoodoo.hookspecs.registration import Settings
from hoodoo.testing.contracts.layout import LayoutContract, made_slice
from hoodoo_standard.layout.new_files import NewFilesLayout
from hoodoo_standard.layout.small_file import SmallFileLayout
from hypothesis import given
from hypothesis import strategies as st


class TestSmallFile(LayoutContract):
    @pytest.fixture
    def layout(self) -> Layout:
        return SmallFileLayout.from_settings(Settings())


class TestNewFiles(LayoutContract):
    @pytest.fixture
    def layout(self) -> Layout:
        return NewFilesLayout.from_settings(Settings())


SMALL = SmallFileLayout(small_file_limit=100, max_file_size=200)
SLICES = [
    made_slice("p", 1, 90),
    made_slice("p", 2, 10),
    made_slice("p", 3, 100),  # not below the limit
    made_slice("p", 4, 20, logs=1),  # log records on top
    made_slice("p", 5, 0),  # of unknown size
    made_slice("p", 6, -1, logs=1),  # no base file
]


def test_smallest_files_are_filled_first() -> None:
    first, second = SLICES[1].file_id, SLICES[0].file_id
    assert SMALL.plan({"p": 10}, SLICES, 10.0) == (Slot("p", 10, first),)
    assert SMALL.plan({"p": 25}, SLICES, 10.0) == (Slot("p", 19, first), Slot("p", 6, second))


def test_the_rest_goes_to_new_files_evenly() -> None:
    slots = SMALL.plan({"p": 30 + 41}, SLICES, 10.0)
    assert [s.weight for s in slots] == [19, 11, 14, 14, 13]
    assert [s.file_id is None for s in slots] == [False, False, True, True, True]


def test_rows_larger_than_a_file() -> None:
    assert SMALL.plan({"p": 3}, [], 1e6) == (Slot("p", 1),) * 3


def test_unknown_row_size_is_guessed() -> None:
    guess = SmallFileLayout(max_file_size=10_240, row_bytes_guess=1024)
    assert [s.weight for s in guess.plan({"": 20}, [], 0.0)] == [10, 10]


def test_new_files_fill_none() -> None:
    assert all(s.file_id is None for s in NewFilesLayout(SMALL).plan({"p": 71}, SLICES, 10.0))


@given(
    st.dictionaries(st.sampled_from(["", "a", "b"]), st.integers(1, 10**7)),
    st.lists(st.tuples(st.sampled_from(["", "a", "z"]), st.integers(0, 300)), max_size=20),
    st.floats(1e-3, 1e4),
)
def test_weights_are_the_arrivals_and_no_file_overflows(
    arrivals: dict[str, int], sizes: list[tuple[str, int]], row_bytes: float
) -> None:
    layout = SmallFileLayout(small_file_limit=10**6, max_file_size=2 * 10**6)
    slices = [made_slice(path, i, size * 5000) for i, (path, size) in enumerate(sizes)]
    size_of = {s.file_id: s.size for s in slices}
    slots = layout.plan(arrivals, slices, row_bytes)
    for path, rows in arrivals.items():
        assert sum(s.weight for s in slots if s.partition_path == path) == rows
    for slot in slots:
        before = size_of[slot.file_id] if slot.file_id else 0
        assert before + slot.weight * row_bytes <= 2 * 10**6 * (1 + 1e-9)


def test_settings() -> None:
    options = {
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.parquet.max.file.size": "1000",
        "hoodie.copyonwrite.record.size.estimate": "10",
    }
    layout = SmallFileLayout.from_settings(Settings(options=options))
    assert layout == SmallFileLayout(0, 1000, 10)
    assert all(s.file_id is None for s in layout.plan({"p": 9}, SLICES, 1.0))
    for key in options:
        with pytest.raises(ConfigError, match=key.replace(".", r"\.")):
            SmallFileLayout.from_settings(Settings(options={key: "-5"}))
        with pytest.raises(ConfigError, match="number of bytes"):
            SmallFileLayout.from_settings(Settings(options={key: "many"}))
