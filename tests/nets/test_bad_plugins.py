"""A plugin that answers wrongly is named by a PluginError, whatever it is and however wrong; nothing is committed.

Each member of each Protocol is found by reflection: one that is new has no wrong answers yet, and fails the net until
it has some. By default one wrong answer in so many is tried on each member, other ones in each run;
``HOODOO_TRIALS=more`` tries all.
"""

from __future__ import annotations

import inspect
import os
import random
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import hoodoo
import hoodoo.hookspecs
import pyarrow as pa
import pytest
from bad_answers import ASKED, ELSEWHERE, NO_ANSWER, WRONG, Case
from bad_scenes import DIRECT, SCENES, bad, copied, fresh, opened, state, values
from hoodoo.errors import CommitUnknownError, HoodooWarning, PluginError
from hoodoo.hookspecs import FAMILIES
from hoodoo.hookspecs.family import members
from hoodoo.kernel.answers import kind_of
from hoodoo.kernel.registry import kernel

kernel()  # knows the families that distributions bring

MORE = (os.environ.get("HOODOO_TRIALS") or "some") != "some"
# Twists of each member that a default run tries.
_SOME = 1
_DONE: Counter[tuple[str, str, str]] = Counter()

# Protocol -> (family, member that makes it, scene).
PLACES: dict[str, tuple[str, str | None, str]] = {
    "KeyGenerator": ("key_generator", None, "upsert"),
    "GeneratesKeys": ("key_generator", None, "generated"),
    "Settles": ("key_generator", None, "complex"),
    "Merger": ("merger", None, "upsert"),
    "Index": ("index", None, "upsert"),
    "LookupIndex": ("index", None, "upsert"),
    "SeesRows": ("index", None, "log_upsert"),
    "Tees": ("index", None, "tee"),
    "ComputedIndex": ("index", None, "bucket"),
    "KeyHash": ("index_hash", None, "growing"),
    "Layout": ("layout", None, "upsert"),
    "Serializer": ("serializer", None, "upsert"),
    "VersionedSerializer": ("serializer", None, "upsert"),
    "BoundSerializer": ("serializer", "bind", "upsert"),
    "BaseFileFormat": ("file_format", None, "upsert"),
    "LogFormat": ("log_format", None, "compaction"),
    "NotesRows": ("log_format", None, "log_upsert"),
    "LogFileReader": ("log_format", "reader", "compaction"),
    "LogFileWriter": ("log_format", "writer", "log_upsert"),
    "LogBlockFormat": ("log_block", None, "compaction"),
    "DecodesSome": ("log_block", None, "point_read"),
    "HasColumnRanges": ("file_format", None, "upsert"),
    "HasBaseRanges": ("file_format", None, "upsert"),
    "BaseFileReader": ("file_format", "reader", "upsert"),
    "BaseFileWriter": ("file_format", "writer", "upsert"),
    "ConflictStrategy": ("conflict", None, "conflict"),
    "Lock": ("lock", None, "lock"),
    "Held": ("lock", "acquire", "lock"),
    "CompactionStrategy": ("compaction", None, "compaction"),
    "ClusteringPlanner": ("clustering_plan", None, "clustering"),
    "Clustering": ("clustering", None, "clustering"),
    "PartitionFilter": ("partition_filter", None, "clustering"),
    "ClusteringUpdates": ("clustering_updates", None, "planned"),
    "CleaningPolicy": ("cleaning", None, "cleaning"),
    "Storage": ("storage", None, "upsert"),
    "Engine": ("engine", None, "upsert"),
    "Stream": ("engine", "map", "upsert"),
    "Side": ("engine", "side", "upsert"),
    "Meter": ("engine", "meter", "metered"),
}
SCENE_OF = {
    ("KeyGenerator", "partition_values"): "read",
    ("BaseFileWriter", "written"): "clustering",
    ("Engine", "meter"): "metered",
    ("Clustering", "keys"): "linear",
    ("LogBlockFormat", "encode"): "log_upsert",
    ("LogFormat", "writer"): "log_upsert",
    ("LogFileReader", "base_rows"): "merged_read",
    ("LogFileReader", "rows_at"): "point_read",
    ("LogFileReader", "rows_near"): "point_read",
    ("ComputedIndex", "file_id"): "new_bucket",
}


def _protocols() -> Iterator[tuple[str, type]]:
    """Every Protocol of the hook specifications, and those of storage."""
    names = [f"hoodoo.hookspecs.{path.stem}" for path in _sources()] + [
        "hoodoo.storage.api",
        "hoodoo.storage.lock",
    ]
    brought = (f.declared_at.partition(":")[0] for f in FAMILIES.values() if f.declared_at)
    for package in dict.fromkeys(brought):
        found = import_module(package)
        names += [f"{package}.{path.stem}" for path in _sources(found)]
    for name in names:
        for found in vars(import_module(name)).values():
            is_protocol = inspect.isclass(found) and getattr(found, "_is_protocol", False)
            if is_protocol and found.__module__ == name:
                yield found.__name__, found


def _sources(package: Any = hoodoo.hookspecs) -> list[Path]:
    return sorted(p for p in Path(package.__path__[0]).glob("*.py") if p.stem[0] != "_")


def _own(protocol: type) -> list[str]:
    """Its members, without those of a Protocol that it extends."""
    inherited = {n for base in protocol.__mro__[1:] for n in vars(base) if n[0] != "_"}
    return [name for name in members(protocol) if name not in inherited]


def test_each_member_of_each_protocol_has_wrong_answers() -> None:
    """A new member of a Protocol needs wrong answers here, and a rule at the seam."""
    lacking = []
    named = [name for name, family in FAMILIES.items() if family.protocols]
    kinds = [kind_of(name) for name in (*named, *(p for f in FAMILIES.values() for p in f.parts))]
    kinds += [kind_of("side"), kind_of("meter")]
    ruled = {name for kind in kinds for name in (*kind.properties, *kind.methods)}
    for name, protocol in _protocols():
        for member in _own(protocol):
            if (name, member) in NO_ANSWER:
                continue
            if not WRONG.get(name, {}).get(member) and name not in ELSEWHERE:
                lacking.append(f"{name}.{member} has no wrong answers")
            if member not in ruled and name not in (
                "RowsLayer",
                "Stream",
                "TableState",
                "BucketNumbers",
                "ResizesBuckets",
                "KeysCheck",
                "QueryUnit",
                "BlockContent",
                "RecordColumns",
            ):
                lacking.append(f"{name}.{member} has no rule at the seam")
    assert not lacking


def _cases() -> list[tuple[str, Case]]:
    chosen = random.Random(os.environ.get("HOODOO_SEED") or None)
    cases = []
    for protocol, wrong in WRONG.items():
        family, via, _scene = PLACES[protocol]
        for member, twists in wrong.items():
            some = twists if MORE or len(twists) <= _SOME else chosen.sample(twists, _SOME)
            cases += [(protocol, Case(family, member, twist, via)) for twist in some]
    return cases


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Tables as the scenes make them, and what acting upon them with good plugins gives."""
    return {"home": tmp_path_factory.mktemp("scenes")}


def _base(tables: dict[str, Any], scene: str) -> tuple[Path, Any]:
    if scene not in tables:
        path = tables["home"] / scene
        SCENES[scene].make(path)
        good = copied(path, tables["home"] / f"{scene}-good")
        SCENES[scene].act(good)
        tables[scene] = (path, values(good))
    found: tuple[Path, Any] = tables[scene]
    return found


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.sampled(2, among="long")
def test_bad_plugins(tables: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """All the cases in one test: it ends with a report of what was tried."""
    wrong: list[str] = []
    proven: set[tuple[str, str]] = set()
    for protocol, case in _cases():
        direct = DIRECT.get((protocol, case.member))
        scene = SCENE_OF.get((protocol, case.member), PLACES[protocol][2])
        source, expected = _base(tables, scene)
        path = copied(source, tables["home"] / "trial")
        before = state(path)
        SCENES[scene].moved.clear()
        act = direct or SCENES[scene].act
        said = _tried(path, case, act, protocol)
        if not said:
            after, wanted = state(path), (SCENES[scene].moved or [before])[0]
            if after[0] != wanted[0]:
                said = f"committed {sorted(set(after[0]) - set(wanted[0]))}"
            elif not after[1].equals(wanted[1]):
                said = "the rows have changed"
        if not said and direct is None and (protocol, case.member) not in proven:
            proven.add((protocol, case.member))
            SCENES[scene].act(path)
            if not values(path).equals(expected):
                said = "the next write, with the right plugin, gives other rows"
        if said:
            wrong.append(f"{protocol}.{case.member} {case.twist}: {said}")
        _DONE[case.family, protocol, case.member] += 1
    with capsys.disabled():
        _report()
    assert not wrong, "\n".join(wrong)


def _tried(path: Path, case: Case, act: Any, protocol: str) -> str:
    """What is wrong with how ``case`` ended; empty if it was a PluginError that names all."""
    ASKED[0] = 0
    try:
        with bad(case):
            act(path)
    except PluginError as error:
        text = str(error)
        lacking = [part for part in (case.family, "hoodoo-") if part not in text]
        # A reader without a schema is no reader: the member that made it is named then.
        named = case.member in text or (case.via or "locate") in text or "pickled" in text
        if lacking or not (named or protocol == "Stream"):
            return f"the error does not name it: {text}"
        return "" if ASKED[0] else f"nobody asked it, and there was {text}"
    except CommitUnknownError as error:
        return "" if case.family == "storage" and "storage" in str(error) else f"{error!r}"
    except Exception as error:
        return f"{type(error).__module__}.{type(error).__name__}: {error}"
    return "no error" if ASKED[0] else "no error: nobody asked it"


def _report() -> None:
    print("\nbad plugins: family, protocol, member, trials")
    for (family, protocol, member), count in sorted(_DONE.items()):
        print(f"  {family:20} {protocol:20} {member:20} {count}")
    print(f"  {len(_DONE)} members, {sum(_DONE.values())} trials")


def test_a_lock_that_cannot_be_released_is_a_warning(tables: dict[str, Any]) -> None:
    """What was decided under it stands: an error would say that it doesn't."""
    source, expected = _base(tables, "lock")
    path = copied(source, tables["home"] / "released")
    with (
        bad(Case("lock", "release", "raises", "acquire")),
        pytest.warns(HoodooWarning, match="lock 'in_process' of distribution hoodoo-standard"),
    ):
        SCENES["lock"].act(path)
    assert values(path).equals(expected)


# On Spark the same error comes out of a task that comes out of the driver.
_ON_SPARK = [
    Case("key_generator", "record_keys", "short"),
    Case("key_generator", "record_keys", "raises"),
    Case("key_generator", "partition_paths", "nulls"),
    Case("merger", "merge", "none"),
    Case("merger", "merge", "raises"),
    Case("index", "locate", "rows_doubled"),
    Case("index", "locate", "step_raises"),
    Case("index", "locate", "retyped"),
    Case("layout", "plan", "unknown"),
    Case("serializer", "serialize", "none", "bind"),
    Case("serializer", "bind", "stuck"),
    Case("file_format", "batches", "items_short", "reader"),
    Case("engine", "collect", "none"),
]


@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
def test_bad_plugins_on_spark(spark: Any, tables: dict[str, Any]) -> None:
    """The same class, saying the same, on both engines."""
    import bad_answers
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(bad_answers)
    source, _expected = _base(tables, "upsert")
    wrong = []
    for case in _ON_SPARK:
        said = {}
        for engine in ("local", "spark"):
            path = copied(source, tables["home"] / "trial")
            before = state(path)
            try:
                with bad(case):
                    opened(path).upsert(fresh(), engine=engine)
            except Exception as error:
                said[engine] = f"{type(error).__name__}: {error}"
            after = state(path)
            if after[0] != before[0] or not after[1].equals(before[1]):
                wrong.append(f"{case} on {engine}: committed")
        if not said.get("spark", "").startswith("PluginError") or _who(said["spark"]) != _who(
            said.get("local", "")
        ):
            wrong.append(f"{case}: {said}")
    assert not wrong, "\n".join(wrong)


def _who(text: str) -> str:
    """The plugin and its member, without the engine's name."""
    return text.split(": ")[1].replace("'spark'", "").replace("'local'", "").partition("hoodoo-")[0]


def test_what_a_plugin_raises_on_purpose_passes(tmp_path: Path) -> None:
    """Errors of Hoodoo's own are the plugin's word about the data or the options."""

    class Choosy:
        merge_mode, strategy_id, columns = "CUSTOM", "3b2f5a7e-7a3e-4d3c-8f9e-0d4f6a5b1c22", None

        def merge(self, older: pa.Table, newer: pa.Table) -> Any:
            raise hoodoo.errors.DataError("row 1", "is not wanted.", "leave it out.")

    table = hoodoo.create(str(tmp_path / "t"), fresh().schema, record_key="id", merger=Choosy())
    with pytest.raises(hoodoo.errors.DataError, match="row 1: is not wanted"):
        table.upsert(fresh())
