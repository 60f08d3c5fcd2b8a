"""Clustering what is laid out already: nothing is done, and the answer says why; and large files when asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pytest
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_cli.commandline import main
from hoodoo_clustering.plan import LEFT_OUT, pending_clusterings

SMALL = "hoodie.clustering.plan.strategy.small.file.limit"
SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int64()), ("text", pa.string())])


def drawn(first: int, count: int) -> pa.Table:
    """Of about 40 bytes each, which do not shrink."""
    draw = np.random.default_rng(first)
    text = [draw.bytes(16).hex() for _ in range(count)]
    return pa.table([np.arange(first, first + count), draw.permutation(count), text], schema=SCHEMA)


def filled(
    path: Path, kind: str = "COPY_ON_WRITE", version: int = 9, **options: Any
) -> hoodoo.Table:
    table = hoodoo.create(
        str(path), SCHEMA, record_key="id", table_type=kind, table_version=version,
        options={"hoodie.parquet.small.file.limit": 0, **options},
    )  # fmt: skip
    for n in range(3):
        table.append(drawn(1000 * n, 1000))
    return table


@pytest.mark.sampled(1)
@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_fault_17_what_is_sorted_already_is_left_alone(
    tmp_path: Path, kind: str, version: int
) -> None:
    table = filled(tmp_path / "t", kind, version)
    smaller: Any = {"target_file_size": 50_000, "options": {SMALL: 1 << 30}}
    expected = sorted(table.read(["id"]).to_arrow()["id"].to_pylist())
    assert table.cluster(columns="v").files
    for again in ({"columns": "v"}, {"columns": ["v"], "order": "linear"}):
        nothing = table.cluster(**again)  # type: ignore[arg-type]
        assert not nothing.instant
        assert nothing.notes == (
            "1 file slice left alone: a clustering has laid them out like this, and nobody has written to "
            "them since.",
        )
    assert table.schedule_clustering(columns="v") is None
    assert table.cluster(columns="text").files  # another order
    assert not table.cluster(columns="text").instant
    assert table.cluster(columns=["text", "v"], order="zorder").files
    assert not table.cluster(columns=["text", "v"], order="zorder").instant
    assert table.cluster(columns=["text", "v"], order="hilbert").files
    assert table.cluster(columns="v", **smaller).files  # another target
    assert not table.cluster(columns="v", **smaller).instant
    table.upsert(drawn(10, 1))  # somebody wrote to it
    if kind == "MERGE_ON_READ":
        assert "have log files" in table.cluster(columns="v", **smaller).notes[0]
        table.compact()
    assert table.cluster(columns="v", **smaller).files
    table.append(drawn(5000, 10))
    assert table.cluster(columns="v", target_file_size=1 << 30, options={SMALL: 1 << 30}).files
    assert sorted(table.read(["id"]).to_arrow()["id"].to_pylist()) == [
        *expected,
        *range(5000, 5010),
    ]
    assert table.verify().ok


def test_fault_17_files_of_the_target_take_part_when_asked(tmp_path: Path) -> None:
    table = filled(tmp_path / "t")
    size = min(s.size for s in table.file_slices())
    left = table.cluster(columns="v", target_file_size=size // 2)
    assert not left.instant
    assert left.notes == (
        f"3 file slices left alone: they have {size // 2} bytes or more ({SMALL} above it takes them in).",
    )
    done = table.cluster(columns="v", target_file_size=size // 2, options={SMALL: size * 2})
    assert len(done.files) > 3
    assert not table.cluster(
        columns="v", target_file_size=size // 2, options={SMALL: size * 2}
    ).instant
    assert table.read().count() == 3000


def test_fault_17_the_plan_says_what_it_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = filled(tmp_path / "t")
    table.append(drawn(9000, 5))
    small = min(s.size for s in table.file_slices()) + 1
    instant = table.schedule_clustering(columns="v", options={SMALL: small})
    ((pending, plan),) = pending_clusterings(Snapshot(table.handle.storage, table.timeline()))
    assert pending.requested == instant
    assert plan.extra[LEFT_OUT].startswith("3 file slices left alone: they have")
    more = table.cluster(columns="v", options={SMALL: small})
    assert more.instant == instant and "bytes or more" in more.notes[0]
    with pytest.raises(SystemExit):
        main(["cluster", table.path, "--columns", "v", "--target-size", str(small // 2)])
    out = capsys.readouterr().out
    assert "Nothing to cluster.\n4 file slices left alone" in out
    with pytest.raises(SystemExit):
        main(["cluster", table.path, "--columns", "v", "--target-size", str(small // 2), "--json"])
    assert "left alone" in json.loads(capsys.readouterr().out)["notes"][0]


def test_an_order_that_is_an_object_is_asked_again(tmp_path: Path) -> None:
    from hoodoo_clustering.strategies.linear import Linear

    table = filled(tmp_path / "t")
    order = Linear(("v",))
    assert table.cluster(order=order).files
    assert table.cluster(order=order).files
