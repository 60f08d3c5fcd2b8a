"""The layout of a table: which files hold a value, in figures and as a picture."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from datetime import date, datetime, timezone
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import ConfigError, SchemaError
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.commit import CommitMetadata, Operation
from hoodoo.model.config import TableConfig
from hoodoo.model.meta import with_meta
from hoodoo.model.schema.avro import avro_text
from hoodoo.timeline import properties, timeline
from hoodoo.timeline.create import init_table
from hoodoo.timeline.layouts import LAYOUTS
from hoodoo_cli.commandline import main
from hoodoo_clustering.layout.axis import axis_of, thinned
from hoodoo_clustering.layout.drawing import svg
from hoodoo_clustering.layout.figures import ColumnFigures, FileRange, column_figures
from hoodoo_clustering.layout.files import LayoutReport, table_layout
from hoodoo_formats.parquet.format import ParquetFormat
from hoodoo_standard.storage.local import LocalStorage
from hypothesis import given
from hypothesis import strategies as st

SVG = "{http://www.w3.org/2000/svg}"
SCHEMA = pa.schema([("n", pa.int64()), ("city", pa.string()), ("l", pa.list_(pa.int64()))])
FIRST, SECOND = "20240101000000000", "20240102000000000"
ENDS = st.tuples(st.integers(0, 20), st.integers(0, 9)).map(lambda e: (e[0], sum(e)))


# --- figures --------------------------------------------------------------------------------------
@given(st.lists(st.none() | ENDS, max_size=9))
def test_the_figures_are_what_counting_gives(bounds: list[Any]) -> None:
    known = [found for found in bounds if found is not None]
    unknown = len(bounds) - len(known)

    def files_of(value: int) -> int:
        return unknown + sum(low <= value <= high for low, high in known)

    depths = [files_of(value) for ends in known for value in ends]
    pairs = [(a, b) for n, a in enumerate(known) for b in known[n + 1 :]]
    meet = sum(a[0] <= b[1] and b[0] <= a[1] for a, b in pairs)
    found = column_figures("n", bounds)
    assert (found.files, found.unknown) == (len(known), unknown)
    assert found.depth == pytest.approx(sum(depths) / len(depths) if depths else unknown)
    assert found.deepest == max((files_of(v) for v in range(40)), default=unknown)
    assert found.overlapping == pytest.approx(meet / len(pairs) if pairs else 0.0)


def test_any_values_that_can_be_compared() -> None:
    days = [(date(2024, 1, 1), date(2024, 1, 5)), (date(2024, 1, 5), date(2024, 1, 9)), None]
    assert column_figures("day", days) == ColumnFigures("day", 2, 1, 2.5, 3, 1.0)


# --- a table --------------------------------------------------------------------------------------
def put(storage: LocalStorage, path: str, group: str, instant: str, rows: dict[str, Any]) -> None:
    made = pa.table(
        {f.name: pa.array(rows.get(f.name, [None] * 2), f.type) for f in with_meta(SCHEMA)}
    )
    where = Path(storage.root.removeprefix("file://")) / path / f"{group}_0-0-0_{instant}.parquet"
    where.parent.mkdir(exist_ok=True)
    pq.write_table(made, where)


def commit(storage: LocalStorage, instant: str, replaced: dict[str, tuple[str, ...]]) -> None:
    operation = Operation.INSERT_OVERWRITE if replaced else Operation.INSERT
    action = "replacecommit" if replaced else "commit"
    extra = {"schema": avro_text(SCHEMA, "t")}
    content = LAYOUTS[2].encode_commit(CommitMetadata(operation, (), replaced, extra), action)
    storage.put(f".hoodie/timeline/{instant}_{instant}.{action}", content)


@pytest.fixture
def table(tmp_path: Path) -> LocalStorage:
    """Two files in ``a`` and one in ``b``; then the two of ``a`` become two others."""
    storage = LocalStorage(str(tmp_path / "t"))
    init_table(storage, TableConfig({
        "hoodie.table.name": "t", "hoodie.table.version": "9", "hoodie.table.type": "COPY_ON_WRITE",
        "hoodie.timeline.layout.version": "2", "hoodie.timeline.path": "timeline",
    }))  # fmt: skip
    put(storage, "a", "f1", FIRST, {"n": [1, 9], "city": ["Rom", "Ulm"]})
    put(storage, "a", "f2", FIRST, {"n": [0, 5], "city": ["Bonn", "Trier"]})
    put(storage, "b", "f3", FIRST, {"n": [20, 30]})
    commit(storage, FIRST, {})
    put(storage, "a", "g1", SECOND, {"n": [0, 1], "city": ["Bonn", "Rom"]})
    put(storage, "a", "g2", SECOND, {"n": [5, 9], "city": ["Trier", "Ulm"]})
    commit(storage, SECOND, {"a": ("f1", "f2")})
    return storage


def source(storage: LocalStorage) -> ReadSource:
    config = properties.load(storage)
    return ReadSource(storage, config, timeline.load(storage, config), ParquetFormat())


def test_the_files_of_a_table(table: LocalStorage) -> None:
    found = table_layout(source(table), ["n", "city"])
    assert [(f.file_id, f.rows, f.bounds) for f in found.files] == [
        ("g1", 2, ((0, 1), ("Bonn", "Rom"))),
        ("g2", 2, ((5, 9), ("Trier", "Ulm"))),
        ("f3", 2, ((20, 30), None)),
    ]
    assert found.sizes.count == 3 and found.sizes.smallest > 100
    assert found.figures[0] == ColumnFigures("n", 3, 0, 1.0, 1, 0.0)
    assert found.figures[1] == ColumnFigures("city", 2, 1, 2.0, 2, 0.0)


def test_as_of_and_partitions(table: LocalStorage) -> None:
    before = table_layout(source(table), ["n"], as_of=FIRST)
    assert [f.file_id for f in before.files] == ["f1", "f2", "f3"]
    assert before.as_of == FIRST
    assert before.figures[0] == ColumnFigures(
        "n", 3, 0, pytest.approx(8 / 6), 2, pytest.approx(1 / 3)
    )
    assert [f.file_id for f in table_layout(source(table), ["n"], ["b/"]).files] == ["f3"]
    assert table_layout(source(table), ["n"], ["bb"]).files == ()
    with pytest.raises(ConfigError, match="point in time"):
        table_layout(source(table), ["n"], as_of="yesterday")


@pytest.mark.parametrize("column", ["nobody", "l", "n.m"])
def test_columns_without_an_order(table: LocalStorage, column: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(column)) as caught:
        table_layout(source(table), [column])
    assert "n, city" in caught.value.fix


# --- the picture ----------------------------------------------------------------------------------
def drawn(*columns: list[Any], as_of: str | None = None) -> LayoutReport:
    rows = zip(*columns, strict=True)
    files = tuple(FileRange("", f"f{n}", FIRST, 10, 1, bounds) for n, bounds in enumerate(rows))
    return LayoutReport("<t & co>", tuple(f"c{n}" for n in range(len(columns))), files, as_of)


def parts(text: str, kind: str, tag: str = "rect") -> list[ET.Element]:
    found = ET.fromstring(text).iter(f"{SVG}{tag}")
    return [part for part in found if part.get("class") == kind]


def bars(text: str, kind: str) -> list[tuple[float, float]]:
    """Left end and width of each bar, from above."""
    (path,) = parts(text, f"bar {kind}", "path")
    found = re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)v", path.get("d", ""))
    assert [float(y) for _, y, _ in found] == sorted(float(y) for _, y, _ in found)
    return [(float(x), float(wide)) for x, _, wide in found]


def test_a_bar_for_each_file_sorted_by_its_least_value() -> None:
    before = drawn([(50, 100), (0, 100), None, (0, 50)], as_of=FIRST)
    text = svg(before, drawn([(0, 50), (50, 100)]))
    left = bars(text, "before")
    assert len(left) == 3
    (a, short), (b, whole), (c, half) = left
    assert a == b < c
    assert short == pytest.approx(half) == pytest.approx(whole / 2, abs=0.1)
    right = bars(text, "after")
    assert [wide for _, wide in right] == pytest.approx([short, short], abs=0.02)  # one scale
    assert min(x for x, _ in right) > b + whole  # beside it
    words = " ".join(part.text or "" for part in ET.fromstring(text).iter(f"{SVG}text"))
    assert "<t & co>" in words and "as of 2024-01-01 00:00:00" in words
    assert "4 files (1 of unknown values)" in words and "100% of pairs overlap" in words


def test_two_columns_are_rectangles_in_a_plane() -> None:
    text = svg(drawn([(0, 10), (5, 10), (0, 1)], [("a", "c"), ("a", "b"), None]))
    one, other = parts(text, "box after")
    assert float(one.get("width", 0)) == pytest.approx(2 * float(other.get("width", 0)), abs=0.1)
    # Upward is more: the second one ends at b, below c.
    assert float(other.get("y", 0)) > float(one.get("y", 0))
    bottoms = [float(box.get("y", 0)) + float(box.get("height", 0)) for box in (one, other)]
    assert bottoms[0] == pytest.approx(bottoms[1], abs=0.1)


def test_one_column_of_several_and_none_that_is_not_there() -> None:
    layout = drawn([(0, 1)], [("x", "y")], [(1.5, 2.5)])
    assert not parts(svg(layout), "box after")
    assert len(parts(svg(layout, columns=["c1"]), "bar after", "path")) == 1
    with pytest.raises(ConfigError, match="c7"):
        svg(layout, columns=["c7"])


def test_nothing_to_draw() -> None:
    for text in (svg(drawn([], [])), svg(drawn([None, None]), drawn([None]))):
        assert ET.fromstring(text).tag == f"{SVG}svg"


@pytest.mark.parametrize("long", [False, True])
def test_no_text_runs_into_another(long: bool) -> None:
    word = "a very long name of a city" if long else "x"
    ends = [(f"{n:04d} {word}", f"{n + 40:04d} {word}") for n in range(0, 900, 7)]
    days = [(date(1999 + n % 30, 1 + n % 12, 1), date(2030, 1, 2)) for n in range(len(ends))]
    layout = drawn(ends, days, as_of=FIRST)
    layout = LayoutReport(layout.table, ("c" * (40 if long else 1), "d"), layout.files, FIRST)
    text = svg(layout, layout)
    root = ET.fromstring(text)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    lines: dict[str, list[tuple[float, float]]] = {}
    for part in root.iter(f"{SVG}text"):
        letter = {"title": 9.6, "head": 7.4}.get(part.get("class", ""), 6.2)
        x, wide = float(part.get("x", 0)), len(part.text or "") * letter
        first = {"end": x - wide, "middle": x - wide / 2}.get(part.get("text-anchor", ""), x)
        assert first >= -1 and first + wide <= width + 1
        assert float(part.get("y", 0)) < height
        lines.setdefault(part.get("y", ""), []).append((first, first + wide))
    assert sum(len(found) for found in lines.values()) > 30
    for found in lines.values():
        assert all(end <= begin for (_, end), (begin, _) in pairwise(sorted(found)))


def test_axes_of_numbers_moments_and_words() -> None:
    def labels(values: list[Any], most: int = 6) -> list[str]:
        ticks = axis_of(values).ticks(most)
        assert len(ticks) <= most and all(0 <= at <= 1 for at, _ in ticks)
        return [text for _, text in ticks]

    assert labels([0, 5000]) == ["0", "1000", "2000", "3000", "4000", "5000"]
    assert labels([-0.1, 0.35]) == ["-0.1", "0", "0.1", "0.2", "0.3"]
    assert labels([0, 2_000_000]) == ["0", "0.5 M", "1.0 M", "1.5 M", "2.0 M"]
    assert labels([Decimal("7.25")]) == ["7.25"]
    assert labels([date(2024, 1, 1), date(2024, 12, 31)]) == [
        "2024-01",
        "2024-04",
        "2024-07",
        "2024-10",
    ]
    assert labels([date(1990, 5, 1), date(2024, 5, 1)]) == ["2000", "2010", "2020"]
    assert labels([date(2024, 2, 27), date(2024, 3, 2)]) == [
        "2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01", "2024-03-02"
    ]  # fmt: skip
    noon = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)
    assert labels([noon, noon.replace(hour=14)]) == [
        "01 12:00", "01 12:30", "01 13:00", "01 13:30", "01 14:00"
    ]  # fmt: skip
    assert labels([noon]) == ["2024-01-01 12:00"]
    assert labels([date(2024, 1, 1)]) == ["2024-01-01"]
    assert labels(["b", "a", "z" * 30]) == ["a", "b", "z" * 13 + "…"]
    assert labels([b"\x01", b"\xff"]) == ["01", "ff"]
    assert labels([False, True]) == ["False", "True"]
    assert axis_of(["a", "b", "c"]).place("b") == 0.5


def test_labels_that_would_touch_are_left_out() -> None:
    ticks = [(n / 4, "12345678") for n in range(5)]
    assert [at for at, _ in thinned(ticks, 400, lambda text: 90)] == [0, 0.5, 1]
    assert thinned(ticks, 400, lambda text: 500) == ticks[:1]
    assert thinned([], 10, len) == []


# --- the command ----------------------------------------------------------------------------------
def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    pytest.importorskip("typer")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as caught:
        patch.setenv("COLUMNS", "160")
        main(("layout", *arguments))
    said = capsys.readouterr()
    code = caught.value.code
    return (code if isinstance(code, int) else 0), said.out + said.err


def test_the_command_says_it(table: LocalStorage, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, table.root, "--columns", "n, city", "--as-of", FIRST)
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert lines[1][:3] == ["n", FIRST, "3"] and lines[1][-3:] == ["1.3", "2", "33%"]
    assert lines[2][:2] == ["now", "3"] and lines[2][-3:] == ["1.0", "1", "0%"]
    assert lines[3][:2] == ["city", FIRST] and lines[3][-1] == "1"
    code, out = run(capsys, table.root, "--columns", "n", "--partition", "b", "--json")
    (now,) = json.loads(out)
    assert (now["as_of"], now["sizes"]["count"], now["columns"][0]["depth"]) == (None, 1, 1.0)


def test_the_command_draws_it(
    table: LocalStorage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "picture.svg"
    code, out = run(
        capsys, table.root, "--columns", "n,city", "--as-of", FIRST, "--output", str(file)
    )
    assert code == 0 and "picture.svg" in out.replace("\n", "")
    text = file.read_text("utf-8")
    assert len(parts(text, "box before")) == 2 and len(parts(text, "box after")) == 2
    code, out = run(capsys, table.root, "--columns", "n", "--output", str(tmp_path / "x.png"))
    assert code != 0 and ".svg" in out
    code, out = run(capsys, table.root, "--columns", " , ")
    assert code != 0 and "--columns" in out
