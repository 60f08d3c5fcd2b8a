"""What a task of an executor may take is found in Spark's settings."""

from __future__ import annotations

from typing import Any

import pytest
from hoodoo.hookspecs.engine import result_bytes, task_memory
from hoodoo.hookspecs.registration import Settings
from hoodoo_spark.engine import SparkEngine
from hoodoo_spark.memory import of_executors
from hoodoo_spark.near import on_session

pytestmark = pytest.mark.sampled(4)

MIB = 1 << 20


class Session:
    """A session with these settings."""

    def __init__(self, said: dict[str, str], master: str | None = "k8s://host") -> None:
        self.conf = self
        self.said = dict(said) | ({} if master is None else {"spark.master": master})

    def get(self, key: str, default: Any) -> Any:
        return self.said.get(key, default)


EXECUTOR, PYTHON = "spark.executor.", "spark.executor.pyspark.memory"
# Settings, MiB of a task.
CASES: list[tuple[dict[str, str], float]] = [
    ({}, 384 * 0.4),
    ({f"{EXECUTOR}memory": "8g"}, 819 * 0.4),
    ({f"{EXECUTOR}memory": "8g", f"{EXECUTOR}memoryOverheadFactor": "0.4"}, 1024),
    ({f"{EXECUTOR}memoryOverhead": "2048"}, 2048 * 0.4),
    ({f"{EXECUTOR}memoryOverhead": "2g", f"{EXECUTOR}cores": "4"}, 2048 * 0.4 / 4),
    (
        {f"{EXECUTOR}memoryOverhead": "2g", f"{EXECUTOR}cores": "4", "spark.task.cpus": "2"},
        2048 * 0.4 / 2,
    ),
    ({f"{EXECUTOR}memoryOverhead": "8g", PYTHON: "1g", f"{EXECUTOR}cores": "2"}, 1024 * 0.4 / 2),
    ({PYTHON: "1g", f"{EXECUTOR}cores": "32"}, 64),
    ({PYTHON: "100g"}, 1024),
    ({PYTHON: "1g", "spark.python.worker.memory": "300m", f"{EXECUTOR}cores": "8"}, 300),
    ({f"{EXECUTOR}memoryOverhead": "a lot", f"{EXECUTOR}cores": "none"}, 384 * 0.4),
]


@pytest.mark.parametrize(("said", "wanted"), CASES)
def test_settings_of_executors(said: dict[str, str], wanted: float) -> None:
    found = of_executors(Session(said))
    assert found is not None and abs(found - wanted * MIB) < MIB
    assert task_memory(SparkEngine(Session(said)), {}) == found
    assert task_memory(SparkEngine(Session(said)), {"hoodoo.memory.bytes": "9MB"}) == 9 * MIB


@pytest.mark.parametrize("master", ["local", "local[*]", "local[4,2]"])
def test_local_tasks_are_on_this_machine(master: str) -> None:
    session = Session({f"{EXECUTOR}memoryOverhead": "2g"}, master)
    assert of_executors(session) is None
    assert task_memory(SparkEngine(session, memory=77 * MIB), {}) == 77 * MIB
    assert of_executors(Session({}, "local-cluster[2,1,1024]")) is not None


def test_a_service_that_does_not_show_them() -> None:
    class Hiding(Session):
        def get(self, key: str, default: Any) -> Any:
            raise RuntimeError(key)

    assert of_executors(Hiding({})) == int(384 * MIB * 0.4)


@pytest.mark.parametrize(
    ("said", "option", "wanted"),
    [
        ({}, {}, 32),
        ({}, {"hoodoo.spark.driver.bytes": "80MB"}, 80),
        ({}, {"hoodoo.spark.driver.bytes": "1GB"}, 96),  # core's own limit
        ({"spark.driver.maxResultSize": "64m"}, {}, 8),
        ({"spark.driver.maxResultSize": "64m"}, {"hoodoo.spark.driver.bytes": "2MB"}, 2),
        ({"spark.driver.maxResultSize": "0"}, {"hoodoo.spark.driver.bytes": "0"}, 0),
    ],
)
@pytest.mark.parametrize("small", ["4MB", "0"])
def test_what_the_driver_holds(
    said: dict[str, str], option: dict[str, str], wanted: int, small: str
) -> None:
    options = {**option, "hoodoo.spark.small.bytes": small}
    engine = on_session(Session(said), Settings(options=options))
    assert result_bytes(engine) == wanted * MIB
