"""spark-submit: the driver and two executors are processes of their own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import hoodoo
import pytest
from hoodoo.testing.distributions import fake_distribution
from spark_cluster import submit

pytestmark = [pytest.mark.spark, pytest.mark.trial]

JOB = Path(__file__).with_name("spark_submit_job.py")
PLUGIN = """
import pyarrow as pa
from hoodoo import hookimpl
from hoodoo.hookspecs import Registration
from hoodoo.hookspecs.merger import Merged


class OnlyDriver:
    merge_mode = "CUSTOM"
    strategy_id = "1f0b4f7e-95f6-4d0a-8f5b-0d8a0a3b9c11"
    columns = ()

    def merge(self, older, newer):
        return Merged(newer_wins=pa.repeat(True, newer.num_rows))


def make(settings):
    return OnlyDriver()


@hookimpl
def hoodoo_mergers():
    return [Registration("only_driver", "only_driver:make", aliases=(OnlyDriver.strategy_id,))]
"""


def test_a_job(tmp_path: Path) -> None:
    plugins = fake_distribution(
        tmp_path / "plugins",
        "acme-only-driver",
        entry_points={"only_driver": "only_driver"},
        modules={"only_driver": PLUGIN},
    )
    shutil.make_archive(str(plugins), "zip", plugins)
    out = submit(tmp_path, "local-cluster[2,1,1024]", JOB, str(plugins))
    found = json.loads(out.strip().splitlines()[-1])

    processes = {pid for pid, _ in found["executors"]}
    folders = {Path(cwd) for _, cwd in found["executors"]}
    assert found["driver"][0] not in processes and Path(found["driver"][1]) == tmp_path
    assert len(folders) == 2 and tmp_path not in folders, "not two executors"
    assert found["changed"] == [], "settings of the context"

    assert found["counts"] == [1000, 10, 10]
    assert (found["newest"], found["then"]) == (990, 1000)
    fares = [sum(i * 0.5 for i in range(10, 990) if i % 3 == c) for c in range(3)]
    assert found["question"] == [[f"c{c}", fares[c]] for c in range(3)]
    rows = hoodoo.open(str(tmp_path / "t")).read(columns=["id", "fare"]).to_arrow()
    assert dict(zip(*rows.to_pydict().values(), strict=True)) == {
        i: (i * 0.5 if i >= 10 else 0.0) for i in range(990)
    }

    assert found["error"]["class"] == "PluginError"
    for wanted in ("merger", "only_driver", "acme-only-driver", "1.0", "worker", "--py-files"):
        assert wanted in found["error"]["text"]
    assert found["untouched"] == [[".hoodie"], 0] and found["after"] == 1000
