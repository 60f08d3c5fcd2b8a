"""The pages are true: their code runs, their signatures are the code's, their links lead somewhere."""

from __future__ import annotations

import ast
import configparser
import importlib
import importlib.util
import inspect
import os
import re
import shlex
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import attrs
import pytest
from attrs import frozen
from hoodoo.errors import PluginError
from hoodoo.hookspecs import FAMILIES, Option, PluginRef, Registration, Settings
from hoodoo.hookspecs import action as action_family
from hoodoo.hookspecs import archived_timeline as archived_family
from hoodoo.hookspecs import change_log as change_family
from hoodoo.hookspecs import clustering_updates as updates_family
from hoodoo.hookspecs import conflict as conflict_family
from hoodoo.hookspecs import engine as engine_family
from hoodoo.hookspecs import file_format as format_family
from hoodoo.hookspecs import index as index_family
from hoodoo.hookspecs import log_block as block_family
from hoodoo.hookspecs import log_format as log_family
from hoodoo.hookspecs import logical_type as logical_family
from hoodoo.hookspecs import participant as participant_family
from hoodoo.hookspecs import pruner as pruner_family
from hoodoo.hookspecs import query_type as query_family
from hoodoo.hookspecs import serializer as serializer_family
from hoodoo.hookspecs.creation import Found, NewTable
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.layout import Layout, Slot
from hoodoo.hookspecs.merger import Merged, Merger
from hoodoo.hookspecs.observer import Event
from hoodoo.hookspecs.report import Reporter
from hoodoo.hookspecs.rows import RowsLayer
from hoodoo.kernel.discover import Plugin, discover
from hoodoo.kernel.registry import Kernel, kernel
from hoodoo.kernel.resolve import resolve
from hoodoo.storage.api import Entry, Storage
from hoodoo.storage.lock import Held, Lock
from hoodoo.testing.distributions import fake_distribution
from hoodoo_catalogs.hookspecs import catalog as catalog_family
from hoodoo_cli.hookspecs.check import Check
from hoodoo_cli.hookspecs.inspector import Inspected, Inspector
from hoodoo_clustering.hookspecs import clustering as clustering_family
from hoodoo_clustering.hookspecs.partition_filter import PartitionFilter, TablePartition
from hoodoo_ingest.hookspecs import source as source_family
from hoodoo_metadata.hookspecs import metadata_partition as partition_family
from hoodoo_metadata.hookspecs.index_hash import KeyHash
from hoodoo_serve.hookspecs.service_policy import ServicePolicy
from hoodoo_services.hookspecs import cleaning as cleaning_family
from hoodoo_services.hookspecs import compaction as compaction_family
from hoodoo_spark.worker import load
from hoodoo_standard.hookspecs.key_filters import KeyFilters
from hoodoo_vectors.hookspecs import vector_index as vector_family

REPO = Path(__file__).parents[2]
kernel()  # knows the families that distributions bring
CONTRIB = REPO / "contrib/keep-first"
CONTRIBS = (
    CONTRIB,
    *(
        REPO / "contrib" / name
        for name in (
            "folded-key",
            "route-geography",
            "arrow-format",
            "sqlite-index",
            "vector-index",
            "prometheus-metrics",
            "retention",
            "lz4-serializer",
            "lance-format",
            "validators",
            "commit-callback",
            "rest-catalogs",
            "zookeeper-lock",
        )
    ),
)
REFERENCE = REPO / "docs/plugins/reference.md"
GUIDE = REPO / "docs/plugins/guide.md"
PAGES = sorted(
    {
        REPO / "README.md",
        REPO / "CHANGELOG.md",
        *(REPO / "tests").glob("*.md"),
        *(contrib / "README.md" for contrib in CONTRIBS),
        *(REPO / "docs").rglob("*.md"),
    }
)
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.M | re.S)


@frozen
class Block:
    """A fenced block of a page; ``line`` is that of its first line of code."""

    info: tuple[str, ...]
    body: str
    line: int

    @property
    def file(self) -> str | None:
        """The file of contrib that the block shows a part of."""
        return next((w[5:] for w in self.info if w.startswith("file=")), None)

    @property
    def contrib(self) -> Path:
        """The distribution of contrib that :attr:`file` is of."""
        named = (w[8:] for w in self.info if w.startswith("contrib="))
        return CONTRIB.parent / next(named, CONTRIB.name)


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    return [
        Block(tuple(m["info"].split()), m["body"], text.count("\n", 0, m.start()) + 2)
        for m in FENCE.finditer(text)
    ]


def prose(page: Path) -> str:
    """The page without its blocks."""
    return FENCE.sub("", page.read_text("utf-8"))


def name_of(page: Path) -> str:
    return str(page.relative_to(REPO))


def installed(block: Block) -> bool:
    """Whether the library is there that a block ``python needs=library`` shows: none of these is
    among what tests need. Where it is installed, the block runs."""
    needed = (word.removeprefix("needs=") for word in block.info if word.startswith("needs="))
    return all(importlib.util.find_spec(name) is not None for name in needed)


def with_python(*, spark: bool) -> list[Path]:
    def has(page: Path) -> bool:
        python = [b for b in blocks(page) if b.info[:1] == ("python",)]
        return any(("spark" in b.info) == spark for b in python)

    return [page for page in PAGES if page.exists() and has(page)]


# --- code -----------------------------------------------------------------------------------------
@pytest.fixture
def keep_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """contrib as if it were installed, by each setup.cfg; nothing to do where it is."""
    for contrib in CONTRIBS:
        if not needed_by(contrib):
            _as_installed(contrib, tmp_path / contrib.name, monkeypatch)
    importlib.invalidate_caches()
    kernel.cache_clear()
    families = dict(FAMILIES)
    yield
    kernel.cache_clear()
    for family in FAMILIES.keys() - families.keys():
        del FAMILIES[family]
    ours = {path.name for contrib in CONTRIBS for path in contrib.glob("src/hoodoo_*")}
    ours.discard("hoodoo_prometheus_metrics")  # a process has its metrics once
    for module in [n for n in sys.modules if n.partition(".")[0] in ours]:
        del sys.modules[module]


def needed_by(contrib: Path) -> list[str]:
    """What the contributed plugin needs and is not installed here: it is left out then."""
    setup = configparser.ConfigParser()
    setup.read(contrib / "setup.cfg", encoding="utf-8")
    wanted = re.findall(r"^[\w.-]+", setup["options"]["install_requires"], re.M)
    there = {_normal(d.metadata["Name"]) for d in metadata.distributions()}
    return [name for name in wanted if _normal(name) not in there]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _as_installed(contrib: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setup = configparser.ConfigParser()
    setup.read(contrib / "setup.cfg", encoding="utf-8")
    name = setup["metadata"]["name"]
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        points = dict(
            line.replace(" ", "").split("=", 1)
            for line in setup["options.entry_points"]["hoodoo"].strip().splitlines()
        )
        monkeypatch.syspath_prepend(fake_distribution(site, name, "1.0.0", entry_points=points))
        monkeypatch.syspath_prepend(contrib / "src")


def run(page: Path, wanted: Callable[[Block], bool]) -> None:
    """The Python blocks of a page, one after another in one namespace; failures name the page's line."""
    names = {"__name__": "__main__"}  # as in a notebook: classes travel to workers whole
    for block in blocks(page):
        if block.info[:1] == ("python",) and wanted(block):
            tree = ast.increment_lineno(ast.parse(block.body), block.line - 1)
            with warnings.catch_warnings():
                if any(
                    word.startswith("needs=") for word in block.info
                ):  # what other libraries call is their own affair
                    warnings.simplefilter("ignore", DeprecationWarning)
                exec(compile(tree, str(page), "exec", dont_inherit=True), names)


INSTANT = re.compile(r"(?<!\d)\d{17}(?!\d)")
FILE_GROUP = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def with_commands() -> list[Path]:
    return [p for p in PAGES if any(b.info == ("console", "run") for b in blocks(p))]


@pytest.mark.parametrize("page", with_commands(), ids=name_of)
def test_commands_print_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Blocks ``console run``, between those of Python. Instants and names of file groups may be others; an instant in
    a command is the first of its table."""
    import hoodoo
    from hoodoo_cli.commandline import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    names = {"__name__": "__main__"}
    for block in blocks(page):
        if block.info == ("python",):
            exec(compile(block.body, str(page), "exec", dont_inherit=True), names)
        elif block.info == ("console", "run"):
            capsys.readouterr()
            printed = []
            for line in block.body.splitlines():
                if not line.startswith("$ hoodoo "):
                    continue
                words = shlex.split(line)[2:]
                if any(map(INSTANT.fullmatch, words)):
                    first = hoodoo.open(words[1]).timeline().writes()[0].requested
                    words = [first if INSTANT.fullmatch(word) else word for word in words]
                with pytest.raises(SystemExit):
                    main(words)
                output = capsys.readouterr()
                printed += [line, *(output.out + output.err).splitlines()]
            assert alike(printed) == alike(block.body.splitlines()), f"line {block.line}"


def alike(lines: list[str]) -> list[str]:
    """Without what is different each time."""
    found = (FILE_GROUP.sub("file-group", INSTANT.sub("instant", line)) for line in lines)
    return [line.rstrip() for line in found]


@pytest.mark.parametrize("page", with_python(spark=False), ids=name_of)
@pytest.mark.sampled(1)
def test_code_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep_first: None
) -> None:
    for contrib in CONTRIBS:
        if page.parent == contrib and (needed := needed_by(contrib)):
            pytest.skip(f"needs {', '.join(needed)}")
    monkeypatch.chdir(tmp_path)
    run(page, lambda block: "spark" not in block.info and installed(block))


NEEDS = sorted(
    (name_of(page), word.removeprefix("needs="))
    for page in PAGES
    if page.exists()
    for block in blocks(page)
    for word in block.info
    if word.startswith("needs=")
)


@pytest.mark.parametrize(("page", "library"), NEEDS)
def test_the_library_of_a_block_is_there(page: str, library: str) -> None:
    """``test_code_runs`` leaves out blocks whose library is not installed: here it is said."""
    if importlib.util.find_spec(library) is None:
        wanted = os.environ.get("HOODOO_FRAMES", "").split(",")
        assert library not in wanted, f"{library} is to be installed"
        pytest.skip(
            f"{page}: its code for {library} has not run: `tox run -e frames` has {library}"
        )


# Each step of theirs is a query of the data source, for which Spark starts several processes.
LONG = {"docs/quickstart-hudi.md", "docs/quickstart-delta.md"}


@pytest.mark.sampled(3)
@pytest.mark.spark
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, id=name_of(page), marks=pytest.mark.trial if name_of(page) in LONG else ()
        )
        for page in with_python(spark=True)
    ],
)
def test_code_runs_on_spark(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep_first: None, spark: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    run(page, lambda block: True)


def test_pages_have_code() -> None:
    """So that a fence written otherwise does not empty the tests above."""
    local = {name_of(page) for page in with_python(spark=False)}
    assert {"README.md", "docs/quickstart.md", "docs/writing.md", "docs/reading.md"} <= local
    assert {"docs/merge-on-read.md", "docs/data-flow.md"} <= local
    assert {"docs/plugins/guide.md", "docs/errors.md", "contrib/keep-first/README.md"} <= local
    on_spark = {name_of(page) for page in with_python(spark=True)}
    pages = {"README.md", "docs/spark.md", "docs/streaming.md", "docs/plugins/guide.md"}
    pages |= {"docs/spark-source.md", "docs/from-spark-hudi.md"}
    pages |= {"docs/quickstart-hudi.md", "docs/quickstart-delta.md"}
    pages |= {"docs/reference/functions.md", "docs/reference/scan.md"}
    assert on_spark == pages


def test_a_failing_block_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    monkeypatch.setattr(sys.modules[__name__], "REPO", tmp_path)
    page.write_text("text\n\n```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n")
    with pytest.raises(AssertionError) as caught:
        run(page, lambda block: True)
    assert caught.traceback[-1].lineno == 7  # counted from 0


# --- the guide ------------------------------------------------------------------------------------
def test_the_guide_shows_the_files_of_contrib() -> None:
    shown = [block for block in blocks(GUIDE) if block.file]
    assert {b.file for b in shown} == {
        "src/hoodoo_keep_first/merger.py",
        "src/hoodoo_keep_first/plugin.py",
        "src/hoodoo_folded_key/generator.py",
    }
    # The others are pages of the site: a link is enough.
    linked = {link.partition("/src/")[2] for link in links(GUIDE)}
    assert linked >= {
        "hoodoo_folded_key/plugin.py",
        "hoodoo_route_geography/clustering.py",
        "hoodoo_route_geography/plugin.py",
        "hoodoo_arrow_format/format.py",
        "hoodoo_lz4_serializer/messages.py",
        "hoodoo_lz4_serializer/plugin.py",
        "hoodoo_retention/action.py",
        "hoodoo_retention/plugin.py",
    }
    for block in shown:
        source = (block.contrib / str(block.file)).read_text("utf-8")
        assert block.body == source if str(block.file).endswith(".py") else block.body in source


def test_the_project_file_in_the_guide_is_that_of_contrib() -> None:
    (shown,) = re.findall(r"^```toml\n(.*?)^```", GUIDE.read_text("utf-8"), re.M | re.S)
    setup = configparser.ConfigParser()
    setup.read(REPO / "contrib/keep-first/setup.cfg")
    options = setup["options"]
    needs = ", ".join(f'"{one}"' for one in options["install_requires"].split())
    (point,) = setup["options.entry_points"]["hoodoo"].strip().splitlines()
    assert {
        f'name = "{setup["metadata"]["name"]}"',
        f'requires-python = "{options["python_requires"]}"',
        f"dependencies = [{needs}]",
        '{} = "{}"'.format(*point.split(" = ")),
    } <= set(shown.splitlines())
    assert shown.startswith((REPO / "contrib/keep-first/pyproject.toml").read_text("utf-8"))


def test_the_guide_shows_what_hoodoo_plugins_prints(
    keep_first: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hoodoo_cli.commandline import main

    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        main(["plugins"])
    (line,) = (x for x in capsys.readouterr().out.splitlines() if "keep_first" in x)
    assert re.sub(" {2,}", "  ", line.strip()) in GUIDE.read_text("utf-8").splitlines()


def test_the_guide_says_what_a_worker_says() -> None:
    ref = PluginRef(
        "merger", "keep_first", "hoodoo_keep_first.plugin", "hoodoo-keep-first", "1.0.0"
    )
    if importlib.util.find_spec("hoodoo_keep_first"):
        pytest.skip("contrib is installed")
    with pytest.raises(PluginError) as caught:
        load(ref)
    assert str(caught.value) in GUIDE.read_text("utf-8")


# A mistake -> what is replaced, by what, and how the message begins.
MISTAKES = {
    "the hook's name is misspelt": (
        "def hoodoo_mergers",
        "def hoodoo_merger",
        "hook 'hoodoo_merger' of plugin 'keep_first' (distribution hoodoo-keep-first 1.0.0): there is no hook of this name",
    ),
    "`@hookimpl` is missing": (
        "@hookimpl",
        "",
        "hook 'hoodoo_mergers' of plugin 'keep_first' (distribution hoodoo-keep-first 1.0.0): the function in hoodoo_keep_first.plugin is not marked",
    ),
    "the module can't be imported": (
        "from hoodoo import",
        "from no_such_library import",
        "plugin 'keep_first' (distribution hoodoo-keep-first 1.0.0): importing hoodoo_keep_first.plugin failed: ModuleNotFoundError",
    ),
    "the name is another plugin's": (
        '"keep_first"',
        '"event_time"',
        "merger 'event_time': two plugins register this name or alias in hook 'hoodoo_mergers'",
    ),
    "the factory is not where it is said to be": (
        "KeepFirst.from",
        "Keep.from",
        "merger 'keep_first' of plugin 'keep_first' (distribution hoodoo-keep-first 1.0.0): its factory hoodoo_keep_first.merger:Keep.from_settings failed",
    ),
    "a member of the Protocol is missing": (
        "",
        "",
        "merger 'keep_first' of plugin 'keep_first' (distribution hoodoo-keep-first 1.0.0): hoodoo_keep_first.merger.KeepFirst is no Merger: it lacks strategy_id",
    ),
    "the class is passed, not an object": ("", "", "merger object First: it is a class"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_say_what_is_wrong(
    mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep_first: None
) -> None:
    monkeypatch.syspath_prepend(CONTRIB / "src")
    source = (CONTRIB / "src/hoodoo_keep_first/plugin.py").read_text("utf-8")
    module = types.ModuleType("hoodoo_keep_first.plugin")
    plugin = Plugin("keep_first", module.__name__, "hoodoo-keep-first", "1.0.0", module)
    old, new, told = MISTAKES[mistake]
    assert old in source
    with pytest.raises(PluginError) as caught:
        if mistake.startswith("the class"):
            resolve("merger", type("First", (), {}))
        elif mistake.startswith("the module"):
            _fails_to_import(tmp_path, monkeypatch, source.replace(old, new))
            (broken,) = discover().broken
            raise broken.error
        else:
            exec(compile(source.replace(old, new), "plugin.py", "exec"), vars(module))
            installed = Kernel([*(p for p in discover().plugins if p.name != "keep_first"), plugin])
            if mistake.startswith("a member"):
                from hoodoo_keep_first.merger import KeepFirst

                monkeypatch.delattr(KeepFirst, "strategy_id")
            resolve("merger", "keep_first", using=installed)
    assert str(caught.value).startswith(told)


def _fails_to_import(site: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    """A distribution of the name of contrib in front of all others."""
    package = site / "front/hoodoo_keep_first"
    fake_distribution(
        site / "front",
        "hoodoo-keep-first",
        "1.0.0",
        entry_points={"keep_first": "hoodoo_keep_first.plugin"},
        modules={"hoodoo_keep_first.plugin": source, "hoodoo_keep_first.__init__": ""},
    )
    assert package.is_dir()
    for name in [n for n in sys.modules if n.partition(".")[0] == "hoodoo_keep_first"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [str(site / "front"), *sys.path])
    importlib.invalidate_caches()


# --- the reference --------------------------------------------------------------------------------
# Protocols and values of each family, in the order of the page. Protocols are checked member by
# member, values by their fields.
TYPES: dict[str, tuple[type, ...]] = {
    "family": (),
    "storage": (Storage, Entry),
    "creation": (NewTable, Found),
    "logical_type": (logical_family.LogicalType,),
    "rows": (RowsLayer,),
    "engine": (
        engine_family.Engine,
        engine_family.KnowsStorage,
        engine_family.Spreads,
        engine_family.Step,
        engine_family.RoutesGroups,
        engine_family.Stream,
        engine_family.Side,
        engine_family.Meter,
        engine_family.Counted,
        engine_family.Task,
        engine_family.Workspace,
    ),
    "key_generator": (KeyGenerator,),
    "merger": (Merger, Merged),
    "index": (
        index_family.Index,
        index_family.LookupIndex,
        index_family.Tees,
        index_family.LearningIndex,
        index_family.ComputedIndex,
        index_family.PathIndex,
        index_family.PathBuckets,
        index_family.BucketPlace,
        index_family.IndexContext,
    ),
    "index_hash": (KeyHash,),
    "layout": (Layout, Slot),
    "serializer": (
        serializer_family.Serializer,
        serializer_family.VersionedSerializer,
        serializer_family.BoundSerializer,
    ),
    "file_format": (
        format_family.BaseFileFormat,
        format_family.HasColumnRanges,
        format_family.ColumnBounds,
        format_family.HasBaseRanges,
        format_family.BaseRanges,
        format_family.RewritesInPlace,
        format_family.UsesThreads,
        format_family.StoresFilters,
        format_family.StoredFilter,
        format_family.BaseFileReader,
        format_family.KnowsKeys,
        format_family.MembershipFilter,
        format_family.FindsValues,
        format_family.KnowsNulls,
        format_family.BaseFileWriter,
        format_family.InPlaceWriter,
    ),
    "log_format": (
        log_family.LogFormat,
        log_family.LogFileReader,
        log_family.LogFileWriter,
    ),
    "log_block": (
        block_family.LogBlockFormat,
        block_family.BlockContent,
        block_family.DecodesSome,
        block_family.ReadsRecords,
        block_family.RecordColumns,
    ),
    "change_log": (change_family.ChangeLogFormat, change_family.ChangeLog),
    "conflict": (conflict_family.ConflictStrategy, conflict_family.Change),
    "lock": (Lock, Held),
    "participant": (
        participant_family.Participant,
        participant_family.Participation,
        participant_family.ActionChange,
        participant_family.ChangedKeys,
        participant_family.TableState,
        participant_family.ParticipantServices,
        participant_family.RebuildRequest,
        participant_family.Rebuilt,
        participant_family.KeysCheck,
        participant_family.ListsFiles,
        participant_family.KnowsRanges,
    ),
    "metadata_partition": (
        partition_family.MetadataPartition,
        partition_family.GroupEntries,
    ),
    "key_filters": (KeyFilters,),
    "pruner": (pruner_family.Pruner, pruner_family.PrunesPaths, pruner_family.PruneRequest),
    "query_type": (
        query_family.QueryType,
        query_family.QueryPlan,
        query_family.QueryUnit,
        query_family.UnitReader,
    ),
    "action": (
        action_family.Action,
        action_family.Schedules,
        action_family.FollowsWrites,
        action_family.AfterWrite,
        action_family.Recovers,
    ),
    "archived_timeline": (archived_family.ArchivedTimeline, archived_family.Archivable),
    "compaction": (compaction_family.CompactionStrategy, compaction_family.Candidate),
    "clustering_plan": (
        clustering_family.ClusteringPlanner,
        clustering_family.Clusterable,
        clustering_family.GroupSizes,
        clustering_family.ClusteringGroup,
    ),
    "clustering": (
        clustering_family.Clustering,
        clustering_family.ClusteredFile,
        clustering_family.ClusteredGroup,
    ),
    "partition_filter": (PartitionFilter, TablePartition),
    "clustering_updates": (updates_family.ClusteringUpdates, updates_family.PendingPlan),
    "cleaning": (
        cleaning_family.CleaningPolicy,
        cleaning_family.History,
        cleaning_family.Aged,
    ),
    "service_policy": (ServicePolicy,),
    "vector_index": (vector_family.VectorIndex, vector_family.NearRequest),
    "catalog": (
        catalog_family.Catalog,
        catalog_family.HasPartitions,
        catalog_family.ServesEngines,
        catalog_family.ReplacesEntries,
        catalog_family.KnowsReaders,
        catalog_family.CatalogTable,
        catalog_family.Column,
    ),
    "source": (
        source_family.Source,
        source_family.Reading,
        source_family.Key,
        source_family.Position,
        source_family.Portion,
        source_family.Arrived,
        source_family.Around,
    ),
    "check": (Check,),
    "inspector": (Inspector, Inspected),
    "report": (Reporter,),
    "command": (),
    "function": (),
    "observer": (Event,),
}
REGISTRATION = (Registration, Option, Settings)


def signature(name: str, what: Any) -> str:
    """``name(arguments) -> answer`` as it is written in the source, without ``self``."""
    found = inspect.signature(what)
    arguments = [_argument(p) for p in found.parameters.values() if p.name != "self"]
    answer = found.return_annotation
    tail = "" if inspect.isclass(what) or answer is found.empty else f" -> {_text(answer)}"
    return f"{name}({', '.join(arguments)}){tail}"


def _argument(found: inspect.Parameter) -> str:
    star = {found.VAR_POSITIONAL: "*", found.VAR_KEYWORD: "**"}.get(found.kind, "")
    text = f"{star}{found.name}: {_text(found.annotation)}"
    if found.default is found.empty:
        return text
    default = "..." if found.default is attrs.NOTHING else repr(found.default)
    return f"{text} = {default if ' object at ' not in default else '...'}"


def _text(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "Any")


def headings_of(kind: type) -> list[str]:
    """The headings that a Protocol or a value has in the page."""
    if not getattr(kind, "_is_protocol", False):
        return [f"### Value `{signature(kind.__name__, kind)}`"]
    found = [f"### Protocol `{kind.__name__}`"]
    for name, member in vars(kind).items():
        if isinstance(member, property):
            answer = inspect.signature(member.fget).return_annotation  # type: ignore[arg-type]
            found.append(f"#### `{name}: {_text(answer)}`")
        elif inspect.isfunction(member) and (not name.startswith("_") or name == "__call__"):
            found.append(f"#### `{signature(name, member)}`")
    return found


def expected_headings() -> list[str]:
    """Every heading with a signature, in the order of the page."""
    found = ["## Registrations", *(h for kind in REGISTRATION for h in headings_of(kind))]
    for family, kinds in TYPES.items():
        specs = FAMILIES[family]
        found.append(f"## {family.replace('_', ' ').capitalize()}")
        found += [f"### `{signature(name, hook)}`" for name, hook in specs.hooks.items()]
        found += [h for kind in kinds for h in headings_of(kind)]
    return found


def test_reference_headings_are_the_signatures() -> None:
    """Both directions at once, and in the order in which data meets the hooks."""
    written = [line for line in prose(REFERENCE).splitlines() if re.match(r"#{2,4} ", line)]
    assert written == expected_headings()


def test_the_reference_covers_what_the_kernel_checks() -> None:
    hooks = {name for specs in FAMILIES.values() for name in specs.hooks}
    assert hooks == set(kernel().hooks)
    assert set(TYPES) == set(FAMILIES)
    for family, specs in FAMILIES.items():
        assert set(specs.protocols) <= set(TYPES[family])


def test_each_hook_says_when_default_and_returns() -> None:
    parts = re.split(r"^### `(hoodoo_\w+).*$", prose(REFERENCE), flags=re.M)
    told = dict(zip(parts[1::2], parts[2::2]))
    assert set(told) == set(kernel().hooks)
    titles = re.findall(r"^### `(hoodoo_\w+.*)`$", prose(REFERENCE), flags=re.M)
    for hook, text in told.items():
        text = re.split(r"^#", text, maxsplit=1, flags=re.M)[0]
        # The page says once that hooks without arguments have none, and which error is usual.
        title = next(one for one in titles if one.startswith(f"{hook}("))
        rest = [] if "() ->" in title else ["Arguments"]
        rest += [] if "-> Iterable[Registration]" in title else ["Errors", "Returns"]
        for word in ("When", "Default", *rest):
            assert f"- *{word}*: " in text, f"{hook} does not say: {word}"


# --- links ----------------------------------------------------------------------------------------
def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    found: set[str] = set()
    for title in re.findall(r"^#{1,6} (.*)$", prose(page), re.M):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        number = 0
        while (slug if not number else f"{slug}-{number}") in found:
            number += 1
        found.add(slug if not number else f"{slug}-{number}")
    return found


def links(page: Path) -> list[str]:
    found = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    return [link for link in found if not re.match(r"[a-z]+:", link)]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
    assert not wrong


def test_anchors() -> None:
    assert "tables-that-others-made" in anchors(REPO / "docs/writing.md")
    assert "no-such-heading" not in anchors(REPO / "docs/writing.md")
    assert links(REPO / "README.md")


def test_decisions_are_found_and_short() -> None:
    """In the site by the navigation (tests/meta/test_site.py), in a checkout by their folder."""
    assert "adr/" in links(REPO / "docs/architecture.md")
    decisions = sorted((REPO / "docs/adr").glob("*.md"))
    assert len(decisions) >= 40
    for number, page in enumerate(decisions, 1):
        text = page.read_text("utf-8")
        assert page.name.startswith(f"{number:04}-") and text.startswith(f"# {number}. "), page.name
        assert {"## Decision", "## Consequences"} <= set(text.splitlines()), page.name
        assert len(text.split()) <= 400, f"{page.name} has {len(text.split())} words of 400"


# The number only goes down: merge what a page repeats, and link.
MOST_WORDS = 110_000


def test_pages_do_not_grow() -> None:
    """What ``git ls-files 'docs/*.md' | xargs cat | wc -w`` counts."""
    count = sum(len(page.read_text("utf-8").split()) for page in (REPO / "docs").rglob("*.md"))
    assert MOST_WORDS - 3_000 < count <= MOST_WORDS, f"{count} words: note a smaller number"


# --- what pages say of the repository -------------------------------------------------------------
def test_the_map_shows_the_rooms_that_exist() -> None:
    text = (REPO / "docs/architecture.md").read_text("utf-8")
    table = text.split("## Rooms", 1)[1].split("\n## ", 1)[0]
    shown = re.findall(r"^\| `(\w+)` \|", table, re.M)
    core = REPO / "core/src/hoodoo"
    rooms = {p.stem for p in core.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert set(shown) == rooms - {"__init__", "__main__"}
    text += (REPO / "docs/inside.md").read_text("utf-8")
    for module in re.findall(
        r"\b((?:model|write|produce|read|merge|timeline|actions|hoodoo_\w+)/[\w/]*\w+\.py)\b", text
    ):
        top = module.partition("/")[0]
        home = core if not top.startswith("hoodoo_") else REPO / f"plugins/{top[7:]}/src"
        assert (home / module).exists(), module
    assert text.count("\n", 0, text.index("# Inside")) < 130, "two screens, and no more"


def test_each_room_says_what_is_in_it() -> None:
    for room in (REPO / "core/src/hoodoo").glob("*/__init__.py"):
        said = ast.get_docstring(ast.parse(room.read_text("utf-8")))
        assert said and said.splitlines()[0].endswith("."), room.parent.name


def test_tox_environments_that_pages_name_exist() -> None:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(REPO / "tox.ini", encoding="utf-8")
    for page in PAGES:
        for name in re.findall(r"tox (?:run )?-e (\w+)", page.read_text("utf-8")):
            assert f"testenv:{name}" in tox or name == "tests", f"{name_of(page)}: tox -e {name}"


def _installed_by(requirement: str, seen: set[str]) -> None:
    """Adds the distributions that ``pip install requirement`` brings, by the files of this checkout."""
    found = re.match(r"([\w.-]+)(?:\[([\w,]+)\])?", requirement.strip())
    if found is None:
        return
    name, extras = found[1], (found[2] or "").split(",")
    seen.add(name)
    folder = {"hoodoo": REPO, "hoodoo-core": REPO / "core"}.get(
        name, REPO / "plugins" / name.removeprefix("hoodoo-")
    )
    if not name.startswith("hoodoo") or not (folder / "setup.cfg").exists():
        return
    config = configparser.ConfigParser()
    config.read(folder / "setup.cfg")
    lists = [config.get("options", "install_requires", fallback="")]
    lists += [config.get("options.extras_require", extra, fallback="") for extra in extras]
    for line in "\n".join(lists).splitlines():
        if line.strip() and re.split(r"[<>=\[ ;]", line.strip())[0] not in seen:
            _installed_by(line, seen)


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_the_first_pages_need_only_what_the_readme_installs(page: str) -> None:
    """README says that ``pip install hoodoo`` is enough without Spark."""
    installed: set[str] = set()
    _installed_by("hoodoo", installed)
    assert {"pyarrow", "duckdb"} <= installed and "polars" not in installed
    blocks = "\n".join(re.findall(r"```python\n(.*?)```", (REPO / page).read_text(), re.DOTALL))
    imported = re.findall(r"^\s*(?:import|from) (\w+)", blocks, re.MULTILINE)
    known = sys.stdlib_module_names | {"hoodoo"} | {name.replace("-", "_") for name in installed}
    assert "hoodoo" in imported
    assert [name for name in imported if name not in known] == []
