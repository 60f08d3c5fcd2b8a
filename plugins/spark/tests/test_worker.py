"""A worker loads by name, and refuses to differ from the driver."""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve
from hoodoo.errors import HoodooError, PluginError
from hoodoo.hookspecs import PluginRef, Settings
from hoodoo.kernel.answers import plain
from hoodoo.model.config import TableConfig
from hoodoo.testing.distributions import fake_distribution
from hoodoo_spark.worker import load

SOURCE = """
import hoodoo
from hoodoo.hookspecs import Registration

made = 0

class Layout:
    def plan(self, arrivals, slices, row_bytes):
        return ()

def make(settings):
    global made
    made += 1
    return Layout()

@hoodoo.hookimpl
def hoodoo_layouts():
    return [Registration("mine", make)]
"""
REF = PluginRef("layout", "mine", "fake_worker_plugin", "worker-dist", "1.0")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    monkeypatch.setattr("hoodoo_spark.worker._loaded", {})
    monkeypatch.setattr("hoodoo_spark.worker._kernels", {})
    yield tmp_path
    sys.modules.pop("fake_worker_plugin", None)


def ship(site: Path, version: str = "1.0", source: str = SOURCE) -> None:
    fake_distribution(
        site,
        "worker-dist",
        version,
        entry_points={"mine": "fake_worker_plugin"},
        modules={"fake_worker_plugin": source},
    )


def fails(ref: PluginRef) -> str:
    with pytest.raises(PluginError) as caught:
        load(ref)
    assert "--py-files" in caught.value.fix and "environment" in caught.value.fix
    return str(caught.value)


def test_loads_once_per_settings(site: Path) -> None:
    ship(site)
    first = load(REF)
    assert first.__class__.__name__ == "Layout"
    assert load(pickle.loads(pickle.dumps(REF))) is first
    other = evolve(REF, settings=Settings(TableConfig({"hoodie.x": "1"}), {"hoodie.y": "2"}))
    assert load(other) is not first
    assert sys.modules["fake_worker_plugin"].made == 2


def test_an_object_travels_as_itself() -> None:
    mine = object()
    assert plain(load(PluginRef("layout", "mine", instance=mine))) is mine


def test_the_module_is_not_there(site: Path) -> None:
    text = fails(REF)
    for part in ("layout 'mine'", "fake_worker_plugin", "worker-dist 1.0", "ModuleNotFoundError"):
        assert part in text


def test_another_version(site: Path) -> None:
    ship(site, "1.1")
    text = fails(REF)
    assert "this worker has worker-dist 1.1, the driver has 1.0" in text


def test_sent_without_metadata(site: Path) -> None:
    """Bare modules on --py-files carry no metadata: the module says its version, or is refused."""
    module = site / "fake_worker_plugin.py"
    module.write_text(SOURCE)
    assert "without a version" in fails(REF)
    del sys.modules["fake_worker_plugin"]
    module.write_text(
        SOURCE + "\n__version__ = '1.0'  # longer, so that no stale bytecode is taken\n"
    )
    importlib.invalidate_caches()
    assert load(REF).__class__.__name__ == "Layout"


def test_it_does_not_offer_that(site: Path) -> None:
    ship(site)
    assert "does not offer it" in fails(evolve(REF, name="other"))
    assert "does not offer it" in fails(evolve(REF, family="merger"))


def test_a_failure_is_not_remembered(site: Path) -> None:
    fails(REF)
    ship(site)
    importlib.invalidate_caches()
    assert load(REF).__class__.__name__ == "Layout"


@pytest.mark.sampled(1, among="long")
def test_in_another_process(site: Path) -> None:
    """The reference is all that travels, and the error comes back as data."""
    ship(site)
    code = (
        "import pickle, sys\n"
        "from hoodoo.errors import HoodooError\n"
        "from hoodoo_spark.worker import load\n"
        "for ref in pickle.load(sys.stdin.buffer):\n"
        "    try:\n"
        "        answer = load(ref)\n"
        "    except HoodooError as exc:\n"
        "        answer = exc.to_dict()\n"
        "    answer = answer if isinstance(answer, dict) else answer.__class__.__name__\n"
        "    pickle.dump(answer, sys.stdout.buffer)\n"
    )
    refs = [REF, evolve(REF, version="99")]
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(refs),
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *sys.path])},
    )
    loaded, told = _both(done.stdout)
    assert loaded == "Layout"
    assert isinstance(told, dict)
    error = HoodooError.from_dict(told)
    assert isinstance(error, PluginError)
    assert "has worker-dist 1.0, the driver has 99" in str(error)


def _both(data: bytes) -> tuple[object, object]:
    from io import BytesIO

    stream = BytesIO(data)
    return pickle.load(stream), pickle.load(stream)
