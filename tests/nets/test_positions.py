"""Record positions change no read: random histories, on both engines, with files of other formats, clones, and writers
that number no rows, others, or those of another base file; and tables that Spark Hudi wrote, which Hoodoo goes on with."""

from __future__ import annotations

import os
import random
import zipfile
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from effort import effort
from met_by_number import met_by_number
from position_histories import BY_KEYS, History, check

_SEED = os.environ.get("HOODOO_SEED") or "0"
_GOLDEN = (
    Path(os.environ.get("HOODOO_GOLDEN") or Path(__file__).parents[1] / "golden/data") / "tables"
)
# Merged on read, of versions in which blocks may say positions.
_TABLES = sorted(path.stem for path in _GOLDEN.glob("mor_*v9_txns*.zip"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("number", range(12))
def test_histories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, version: int
) -> None:
    history = History.drawn(tmp_path / "t", f"{_SEED} {number} {version}", version=version)
    met = met_by_number(monkeypatch)
    for _ in range(8):
        history.step()
        history.check()
    assert not (met and all(met)), "reads by keys go by keys"


@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
@pytest.mark.parametrize("number", range(effort(3, 12)))
def test_histories_on_spark(tmp_path: Path, spark: Any, number: int) -> None:
    """Tasks of Spark look rows up, write log files and merge them."""
    history = History.drawn(tmp_path / "t", f"{_SEED} spark {number}", engine="spark")
    for _ in range(4):
        history.step()
        history.check()
    on, off = (hoodoo.open(str(history.path), options) for options in ({}, BY_KEYS))
    found, expected = (
        sorted(map(str, table.read().to_spark(spark).collect())) for table in (on, off)
    )
    assert found == expected and found


@pytest.mark.sampled
@pytest.mark.parametrize("name", _TABLES)
def test_tables_that_spark_hudi_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Log files of both writers lie beside its base files; then compacted ones."""
    with zipfile.ZipFile(_GOLDEN / f"{name}.zip") as archive:
        archive.extractall(tmp_path)
    (path,) = (p for p in tmp_path.iterdir() if p.is_dir())
    chance, met = random.Random(f"{_SEED} {name}"), met_by_number(monkeypatch)
    check(path, chance)
    for step in ("upsert", "delete", "upsert", "compact", "upsert", "delete"):
        table = hoodoo.open(str(path))
        rows = table.read().to_arrow()
        some = rows.take(pa.array(chance.sample(range(rows.num_rows), 1 + rows.num_rows // 3)))
        match step:
            case "upsert":
                table.upsert(some)
            case "delete":
                table.delete(some.slice(0, 1))
            case _:
                table.compact()
        check(path, chance)
    # A delete of a complex key may stand for keys of two forms: those meet by keys.
    assert any(met) == ("complex" not in name) and not all(met)
