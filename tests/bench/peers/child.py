"""One contender, one process, one Spark session: all steps, each timed; prints what they took as a line of JSON.

python -m tests.bench.peers.child NAME FOLDER STEPS.json
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.measure import Sampler
from tests.bench.peers.contenders import ALL, KEY, Contender
from tests.bench.peers.jars import jars_of
from tests.bench.peers.store import BUCKET, Store
from tests.bench.processor import ProcessorTime

MARKER = "@@peers "
# Of another table, at the end, when all code and all workers are warm: for who asks for this step.
AGAIN = "load again"


def session(
    contender: type[Contender], folder: str, warehouse: str, store: Store | None = None
) -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        "spark.local.dir": folder,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.catalog.local.warehouse": warehouse,
        **contender.settings,
        **(store.settings if store else {}),
    }
    if jars := jars_of(contender.family, on_store=store is not None):
        settings["spark.jars"] = jars
    builder = SparkSession.builder.master("local[2]").appName("peers")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def fingerprint(frame: Any) -> str:
    """Rows, and a sum over a hash of each: every contender must have the same."""
    from pyspark.sql import functions as f

    names = [f.col(name) for name in sorted(frame.columns)]
    row = frame.select(f.xxhash64(*names).cast("decimal(38,0)").alias("h"))
    found = row.agg(f.count("*"), f.sum("h")).collect()[0]
    return f"{found[0]} rows, {found[1]}"


def files(folder: str) -> dict[str, tuple[int, int]]:
    found = {}
    for root, _folders, names in os.walk(folder):
        for name in names:
            try:
                stat = os.stat(path := os.path.join(root, name))
            except OSError:
                continue
            found[path] = (stat.st_size, stat.st_mtime_ns)
    return found


def measured(
    name: str,
    step: str,
    call: Callable[[], Any],
    warehouse: str,
    check: Callable[[], str] | None,
    store: Store | None = None,
) -> dict[str, Any]:
    """What a step took and wrote, and what ``check`` says of the table afterwards; or the error. Where it answers
    the seconds of its parts, their sum counts. ``store``: where requests are counted instead of files."""
    before, sent = files(warehouse), store.requests() if store else None
    try:
        with Sampler() as sampler, ProcessorTime() as processor:
            begun = time.perf_counter()
            answer = call()
            took = time.perf_counter() - begun
    except Exception as error:
        traceback.print_exc()
        return {"error": str(error).splitlines()[0][:300]}
    more = {"requests": dict(store.requests() - sent)} if store and sent is not None else {}
    now = files(warehouse)
    fresh = [path for path, seen in now.items() if before.get(path) != seen]
    said: dict[str, Any] = {
        "seconds": round(took, 3),
        "processor": round(processor.seconds, 2),
        "written": sum(now[path][0] for path in fresh),
        "files": len(fresh),
        "memory": sum(sampler.peaks.values()),
        **more,
    }
    if isinstance(answer, dict):
        said |= {"parts": answer, "seconds": round(sum(answer.values()), 3)}
    elif isinstance(answer, list) and answer and isinstance(answer[0], float):
        said["each"] = answer
    elif isinstance(answer, int):
        said["rows"] = answer
    if check is not None:
        said["table"] = check()
    print(f"{name}: {step}: {said['seconds']} s", file=sys.stderr, flush=True)
    return said


def steps_of(one: Contender, inputs: dict[str, str], parted: bool) -> dict[str, Callable[[], Any]]:
    spark = one.spark

    def of(name: str) -> Any:
        return spark.read.parquet(inputs[name])

    def total() -> Any:
        return one.read().selectExpr("count(*)", "sum(l_quantity)", "sum(length(l_comment))").collect()  # fmt: skip

    key = "1-1"
    steps: dict[str, Callable[[], Any]] = {
        "plain Parquet": lambda: of("load").write.parquet(f"{one.path}.plain"),
        "load": lambda: one.load(of("load")),
    }
    since: dict[str, str] = {}
    for name in ("upsert 1 %", "upsert 1 % again", "upsert 10 %", "upsert skewed"):
        steps[name] = lambda name=name: one.upsert(of(name))  # type: ignore[misc]
    steps["read and sum"] = total
    steps["point read"] = lambda: one.read().where(f"{KEY} = '{key}'").collect()
    if one.compact is not None:
        steps["compact"] = one.compact
        steps["read and sum, compacted"] = total
    if one.point is not None:
        steps["@point"] = lambda: since.update(at=one.point())  # type: ignore[misc]
    steps["insert 1 %"] = lambda: one.upsert(of("insert 1 %"))
    if one.since is not None:
        steps["incremental read"] = lambda: one.since(since["at"]).count()  # type: ignore[misc]
    steps["delete 1 %"] = lambda: one.delete(of("delete 1 %"))
    if parted and one.moves:
        steps["move 1 %"] = lambda: one.upsert(of("move 1 %"))
    small = sorted(name for name in inputs if name.startswith("small "))

    def commits() -> list[float]:
        took = []
        for name in small:
            begun = time.perf_counter()
            one.upsert(of(name))
            took.append(round(time.perf_counter() - begun, 3))
        return took

    if small:
        steps[f"{len(small)} small commits"] = commits
        steps["read and sum, after them"] = total
    if one.cluster is not None:
        for order in one.orders:
            steps[f"cluster {order}"] = lambda order=order: one.cluster(order)  # type: ignore[misc]
        steps["read and sum, clustered"] = total
    return steps


def main() -> None:
    name, folder, given = sys.argv[1:4]
    order = json.loads(Path(given).read_text())
    kind, more = ALL[name]
    store = Store(**order["store"]) if order.get("store") else None
    warehouse = f"s3a://{BUCKET}/{Path(folder).name}" if store else f"{folder}/tables"
    spark = session(kind, folder, warehouse, store)
    path = f"{warehouse}/db/lineitem"
    one = kind(spark, path, order["parted"], **more)
    # Workers and code paths that the first use of a session pays for are not the table's.
    spark.read.parquet(order["inputs"]["delete 1 %"]).selectExpr("sum(length(id))").collect()
    results: dict[str, Any] = {}
    steps = steps_of(one, order["inputs"], order["parted"])
    other = kind(spark, f"{warehouse}/db/again", order["parted"], name="again", **more)
    if AGAIN in order["only"]:
        steps[AGAIN] = lambda: other.load(spark.read.parquet(order["inputs"]["load"]))
    for step, call in steps.items():
        if order["only"] and step not in order["only"] and step not in ("load", "@point"):
            continue
        checked = not step.startswith(("plain", "@", "incremental", "point"))
        shown = other if step == AGAIN else one
        check = (lambda shown=shown: fingerprint(shown.read())) if checked else None
        results[step] = measured(name, step, call, warehouse, check, store)
    print(MARKER + json.dumps(results), flush=True)


if __name__ == "__main__":
    main()
