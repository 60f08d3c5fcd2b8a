"""Upserts of 1 % and 10 % of the rows, uniformly drawn, beside deltalake's merge on the same rows."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from tests.bench import data
from tests.bench.measure import Figure, Report
from tests.bench.processor import ProcessorTime

SHARES = (0.01, 0.10)
MATCH = " AND ".join(f"t.{name} = s.{name}" for name in data.KEY)
BUCKETS = {"hoodie.bucket.index.num.buckets": 8}


def _load(
    path: str, table: pa.Table, name: str = "lineitem", merger: str | None = None
) -> hoodoo.Table:
    shutil.rmtree(path, ignore_errors=True)
    more = {"merger": merger} if merger else {}
    made = hoodoo.create(
        path, table.schema, name=name, record_key=data.KEY, index="bucket", options=BUCKETS, **more
    )
    made.bulk_insert(table)
    return made


def _delta_merge(path: str, change: pa.Table) -> None:
    done = (
        DeltaTable(path)
        .merge(change, MATCH, source_alias="s", target_alias="t")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute()
    )
    assert done["num_target_rows_updated"] == change.num_rows, done


def _compare(hoodoo_path: str, delta_path: str, also: str | None = None) -> None:
    columns = [*data.KEY, *([also] if also else []), "l_comment"]
    ours = hoodoo.open(hoodoo_path).read(columns=columns).to_arrow()
    theirs = DeltaTable(delta_path).to_pyarrow_table(columns=columns)
    fields = [
        pa.field(f.name, pa.string() if "string" in str(f.type) else f.type) for f in theirs.schema
    ]
    assert data.checksum(ours) == data.checksum(theirs.cast(pa.schema(fields)))
    if also is not None:
        sums = [pc.sum(rows.column(also)).as_py() for rows in (ours, theirs)]
        assert sums[0] == sums[1], sums


def _pairs(
    report: Report, folder: str, scale: float, runs: int, where: str, goals: dict[float, float],
    feed: Callable[[pa.Table, int], Any], engine: str,
) -> None:  # fmt: skip
    """Both sides get the same changes in the same order, so both end with the same rows."""
    table = data.plain(data.lineitem(scale))
    ours, theirs = f"{folder}/hoodoo-{where}", f"{folder}/delta-{where}"
    _load(ours, table)
    shutil.rmtree(theirs, ignore_errors=True)
    write_deltalake(theirs, table)
    for share in SHARES:
        seeds = [int(share * 100) * 1000 + run for run in range(runs)]
        changes = [data.change(table, share, seed) for seed in seeds]
        feeds = [feed(change, seed) for change, seed in zip(changes, seeds, strict=True)]
        name = f"deltalake merge of {share:.0%}, {where}"
        report.time(name, runs, lambda run: _delta_merge(theirs, changes[run]))  # noqa: B023

        def upsert(run: int) -> None:
            done = hoodoo.open(ours).upsert(feeds[run], engine=engine)  # noqa: B023
            assert (done.updated, done.inserted) == (changes[run].num_rows, 0)  # noqa: B023

        report.time(
            f"hoodoo upsert of {share:.0%}, bucket index, {where}", runs, upsert, name, goals[share]
        )
        _compare(ours, theirs)


def on_spark(report: Report, spark: Any, folder: str, scale: float, runs: int) -> None:
    """The changes come as a Spark DataFrame; deltalake gets them as Arrow."""

    def feed(change: pa.Table, seed: int) -> Any:
        path = f"{folder}/change-{seed}.parquet"
        pq.write_table(change, path)
        return spark.read.parquet(path)

    _pairs(
        report,
        folder,
        scale,
        runs,
        "Spark",
        dict(zip(SHARES, (1.0, 1.2), strict=True)),
        feed,
        "spark",
    )


def locally(report: Report, folder: str, scale: float, runs: int) -> None:
    goals = dict(zip(SHARES, (0.7, 0.9), strict=True))
    _pairs(report, folder, scale, runs, "local", goals, lambda change, _: change, "local")


def statements(report: Report, folder: str, scale: float, runs: int) -> None:
    """``table.merge`` beside deltalake's: whole rows, and one column of them, computed of both sides. Whose turn it is
    changes with each run: both get the same changes, so both end with the same rows."""
    table = data.plain(data.lineitem(scale))
    ours, theirs = f"{folder}/hoodoo-statements", f"{folder}/delta-statements"
    _load(ours, table)
    shutil.rmtree(theirs, ignore_errors=True)
    write_deltalake(theirs, table)
    changes = [data.change(table, 0.01, 7000 + run) for run in range(runs)]
    taxes = [change.select([*data.KEY, "l_tax"]) for change in changes]

    def merge(run: int) -> None:
        made = hoodoo.open(ours).merge(changes[run], on=data.KEY).when_matched_update_all()
        done = made.when_not_matched_insert_all().execute()
        assert (done.updated, done.inserted) == (changes[run].num_rows, 0)

    def merge_column(run: int) -> None:
        made = hoodoo.open(ours).merge(taxes[run], on=data.KEY)
        done = made.when_matched_update({"l_tax": "target.l_tax + source.l_tax"}).execute()
        assert done.updated == taxes[run].num_rows

    def delta_column(run: int) -> None:
        made = DeltaTable(theirs).merge(taxes[run], MATCH, source_alias="s", target_alias="t")
        done = made.when_matched_update({"l_tax": "t.l_tax + s.l_tax"}).execute()
        assert done["num_target_rows_updated"] == taxes[run].num_rows

    report.in_turn(
        {
            "deltalake merge of 1 %, whole rows": lambda run: _delta_merge(theirs, changes[run]),
            "hoodoo table.merge of 1 %, whole rows, bucket index": merge,
        },
        runs,
        1.0,
    )
    _compare(ours, theirs)
    report.in_turn(
        {
            "deltalake merge of 1 %, one column": delta_column,
            "hoodoo table.merge of 1 %, one column, bucket index": merge_column,
        },
        runs,
    )
    _compare(ours, theirs, "l_tax")


def wide(report: Report, folder: str, scale: float, runs: int) -> None:
    """The same rows and bytes in 16 and in 160 columns, of texts of 85 and of 4 letters.

    1,280 bytes a row: of fewer, 160 texts with their offsets would be more than 16 are.
    """
    narrow = data.plain(data.lineitem(scale))
    rows = min(narrow.num_rows, 500_000)
    narrow = narrow.slice(0, rows).combine_chunks()
    pairs = {
        "16 columns": data.wide(narrow, 16, rows * 1280),
        "160 columns": data.wide(narrow, 160, rows * 1280),
    }
    sizes = [table.nbytes for table in pairs.values()]
    assert max(sizes) < 1.02 * min(sizes), sizes
    for name, table in pairs.items():
        path = f"{folder}/wide"
        made = _load(path, table, "wide")
        changes = [data.change(table, 0.01, seed) for seed in range(runs)]

        def upsert(run: int) -> None:
            assert made.upsert(changes[run]).updated == changes[run].num_rows  # noqa: B023

        against = "" if name.startswith("16 ") else "hoodoo upsert of 1 %, 16 columns"
        report.time(
            f"hoodoo upsert of 1 %, {name}", runs, upsert, against, 1.3 if against else None
        )


def partial(report: Report, folder: str, scale: float, runs: int) -> None:
    """1 % of the rows with 2 of 160 columns, beside whole rows; copy on write, bucket index, local engine.

    Three tables with the same rows get the same drawn rows, by turns: with the key and two other columns, and whole,
    where these two differ or all columns do. The first two tables end with the same rows. Processor time is in the notes.
    """
    narrow = data.plain(data.lineitem(scale))
    rows = min(narrow.num_rows, 500_000)
    table = data.wide(narrow.slice(0, rows).combine_chunks(), 160, rows * 1280)
    others = [name for name in table.column_names if name not in data.KEY]
    two = [others[10], others[150]]
    ways = {
        "2 of 160 columns": (two, "partial", [*data.KEY, *two]),
        "160 columns, 2 of them differ": (two, None, table.column_names),
        "160 columns, all differ": (others, None, table.column_names),
    }
    paths = {way: f"{folder}/partial-{number}" for number, way in enumerate(ways)}
    figures = {way: Figure(f"hoodoo upsert of 1 %, {way}", [], {}) for way in ways}
    for way, (_, merger, _) in ways.items():
        _load(paths[way], table, "wide", merger)
    used: dict[str, list[float]] = {way: [] for way in ways}
    for run in range(runs):
        drawn = data.change(table, 0.01, run)
        for way, (differing, _, given) in ways.items():
            change = _turned(drawn, differing, run).select(given)
            with ProcessorTime() as processor:
                begun = time.perf_counter()
                done = hoodoo.open(paths[way]).upsert(change)
                figures[way].seconds.append(round(time.perf_counter() - begun, 3))
            assert (done.updated, done.inserted) == (change.num_rows, 0)
            used[way].append(processor.seconds)
    partly, *whole = figures.items()
    for way, figure in whole:
        figure.notes = {"processor": statistics.median(used[way])}
        report.add(figure)
    for way, figure in whole:
        ratio = partly[1].median / figure.median
        processor_ratio = statistics.median(used[partly[0]]) / figure.notes["processor"]
        report.add(
            Figure(
                f"{partly[1].name}, beside {way}", partly[1].seconds, {}, figure.name, 0.3, round(ratio, 2),
                {"processor": statistics.median(used[partly[0]]), "of": round(processor_ratio, 2)},
            )
        )  # fmt: skip
    columns = [*data.KEY, others[0], *two]
    ours, theirs = (
        hoodoo.open(paths[way]).read(columns=columns).to_arrow().sort_by([(k, "ascending") for k in data.KEY])
        for way in list(ways)[:2]
    )  # fmt: skip
    assert ours.equals(theirs)
    for path in paths.values():
        shutil.rmtree(path)


def _turned(rows: pa.Table, columns: list[str], run: int) -> pa.Table:
    """``rows`` with the letters of these columns in reverse, and the number of the run before them: as long as before."""
    for name in columns:
        turned = pc.utf8_reverse(pc.utf8_slice_codeunits(rows.column(name), 1))
        changed = pc.binary_join_element_wise(str(run % 10), turned, "")
        rows = rows.set_column(rows.schema.get_field_index(name), name, changed)
    return rows
