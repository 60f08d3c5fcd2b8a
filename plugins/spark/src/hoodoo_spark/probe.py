"""The probe: do the workers have what the driver has? Asked before the first write of a session."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import hoodoo
import pyarrow as pa
from hoodoo.errors import EngineError, HoodooError, PluginError
from hoodoo.hookspecs.registration import PluginRef
from hoodoo_rows.engine.crossing import message_format

from hoodoo_spark.failures import failure
from hoodoo_spark.session import application, is_connect, parallelism
from hoodoo_spark.worker import load

FIX = (
    "Give the workers the driver's environment: PYSPARK_PYTHON names the Python they run, "
    "--py-files or --archives sends them packages."
)
_passed: set[tuple[Any, ...]] = set()


def check(spark: Any, plugins: Sequence[PluginRef]) -> None:
    """Raise EngineError (Python, pyarrow, hoodoo) or PluginError naming what differs; a set of
    plugins that passed is not asked for again in the same Spark application."""
    key = (
        application(spark),
        frozenset((p.family, p.name, p.module, p.distribution, p.version) for p in plugins),
    )
    known = all(p.module for p in plugins)  # objects can't be told apart by name
    if known and key in _passed:
        return
    from pyspark import cloudpickle

    blobs = [cloudpickle.dumps((plugin, _format(plugin))) for plugin in plugins]
    tasks = max(1, parallelism(spark))
    try:
        found = _answers(spark, _probe(blobs), tasks)
    except Exception as error:
        if "PYTHON_VERSION_MISMATCH" in str(error):
            raise EngineError(
                "Python of the workers", f"differs from the driver's, {_python()}.", FIX
            ) from error
        raise failure(error) from error
    _raise_first(found, plugins)
    if known:
        _passed.add(key)


def _answers(spark: Any, probe: Any, tasks: int) -> list[str]:
    if not is_connect(spark):
        # Without DataFrame and Arrow: the workers may lack pyarrow, and should say so.
        context = spark.sparkContext
        return list(context.parallelize(range(tasks), tasks).mapPartitions(probe).collect())

    def asked(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for _ in batches:
            yield pyarrow.RecordBatch.from_arrays(
                [pyarrow.array(list(probe(iter(()))))], ["answer"]
            )

    rows = spark.range(0, tasks, 1, tasks).mapInArrow(asked, "answer string").collect()
    return [row["answer"] for row in rows]


def _python() -> str:
    return ".".join(map(str, sys.version_info[:2]))


def _format(plugin: PluginRef) -> str:
    """Of the messages of a serializer, by the driver's code; empty for other plugins."""
    return message_format(load(plugin)) if plugin.family == "serializer" else ""


def _expected() -> dict[str, str]:
    return {"Python": _python(), "pyarrow": pa.__version__, "hoodoo": hoodoo.__version__}


def _probe(blobs: list[bytes]) -> Any:
    """The worker's side. A nested function, so that it is pickled whole: a worker that lacks this
    distribution can still answer."""

    def run(_: Iterator[int]) -> Iterator[str]:
        import importlib
        import json
        import pickle
        import socket
        import sys

        versions = {"Python": ".".join(map(str, sys.version_info[:2]))}
        for name in ("pyarrow", "pandas", "hoodoo", "hoodoo_spark"):
            try:
                module = importlib.import_module(name)
                versions[name] = str(getattr(module, "__version__", ""))
            except Exception as error:
                versions[name] = f"missing ({type(error).__name__}: {error})"
        faults: dict[str, Any] = {}
        if not versions["hoodoo"].startswith("missing"):
            for number, blob in enumerate(blobs):
                try:
                    from hoodoo_rows.engine.crossing import message_format

                    from hoodoo_spark.worker import load

                    plugin, wanted = pickle.loads(blob)
                    loaded = load(plugin)
                    if wanted and message_format(loaded) != wanted:
                        faults[str(number)] = (
                            f"it packs rows as {message_format(loaded)}, the driver as {wanted}."
                        )
                except Exception as error:
                    as_dict = getattr(error, "to_dict", None)
                    faults[str(number)] = (
                        as_dict() if as_dict else f"{type(error).__name__}: {error}"
                    )
        yield json.dumps({"host": socket.gethostname(), "versions": versions, "faults": faults})

    return run


def _raise_first(answers: Sequence[str], plugins: Sequence[PluginRef]) -> None:
    expected = _expected()
    for answer in map(json.loads, answers):
        host = answer["host"]
        for name, version in answer["versions"].items():
            if version.startswith("missing") or version != expected.get(name, version):
                wanted = f", the driver has {expected[name]}" if name in expected else ""
                raise EngineError(f"{name} on worker {host}", f"is {version}{wanted}.", FIX)
        for number, fault in answer["faults"].items():
            if isinstance(fault, dict):
                raise HoodooError.from_dict(fault)
            ref = plugins[int(number)]
            raise PluginError(
                f"{ref.family} {ref.name!r} on worker {host}", f"can't be used: {fault}", FIX
            )
