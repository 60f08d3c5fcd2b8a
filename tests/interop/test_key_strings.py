"""Random values through Spark Hudi's key generators, in its JVM, and through ours: equal strings.

Where they are not, the difference is one of those in docs/writing.md ("Where strings differ").
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random, SystemRandom

import pyarrow.parquet as pq
import pytest
import spark_hudi
from spark_hudi import SparkHudi

HERE = Path(__file__).parent
sys.path.append(str(HERE.parents[1] / "plugins/standard/tests"))  # what differences there are

from key_cases import Case, Group, Strings, compared  # noqa: E402
from key_values import drawn, settings  # noqa: E402

# The seed of a run that failed makes the same values again.
SEED = int(os.environ.get("HOODOO_SEED") or SystemRandom().randrange(2**32))
ROWS = 60
CLASSES = {
    "SIMPLE": "SimpleKeyGenerator", "COMPLEX": "ComplexKeyGenerator",
    "NON_PARTITION": "NonpartitionedKeyGenerator", "TIMESTAMP": "TimestampBasedKeyGenerator",
    "CUSTOM": "CustomKeyGenerator", "GLOBAL_DELETE": "GlobalDeleteKeyGenerator",
}  # fmt: skip


@pytest.fixture(scope="module")
def generators(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkHudi]:
    """A Spark Hudi whose key generators can be asked."""
    log = tmp_path_factory.mktemp("log") / "spark.log"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_hudi, "WORKER", HERE / "key_worker.py")
        with SparkHudi(log=log) as running:
            yield running


def test_key_strings(generators: SparkHudi, tmp_path: Path) -> None:
    print(f"HOODOO_SEED={SEED}")
    random = Random(SEED)
    table = drawn(random, ROWS)
    pq.write_table(table, tmp_path / "rows.parquet")
    said = settings(random)
    asked = [
        {"class": f"org.apache.hudi.keygen.{CLASSES[name]}", "options": options}
        for name, options in said
    ]
    answers = generators._ask("key_strings", source=str(tmp_path / "rows.parquet"), asked=asked)
    batch = table.combine_chunks().to_batches()[0]
    outcomes: list[tuple[Case, str | None]] = []
    for (name, options), answer in zip(said, answers, strict=True):
        assert isinstance(answer, list), f"seed {SEED}: {name} {options} can't be made: {answer}"
        wanted: list[Strings | None] = [Strings(key[0], path[0]) for key, path in answer]
        outcomes += compared(Group(name, options, batch, wanted))
    faults = [str(case) for case, outcome in outcomes if outcome is None]
    assert not faults, f"seed {SEED}, {len(faults)} faults:\n" + "\n".join(faults[:20])
    print(Counter(outcome for _case, outcome in outcomes))
    for what in ("key", "path"):
        strings = [c for c, outcome in outcomes if c.what == what and outcome == "equal" and c.ours]
        assert len(strings) > len(said) * ROWS // 3, f"seed {SEED}: mostly refused"
