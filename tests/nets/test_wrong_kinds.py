"""Net: a value of the wrong kind, for each argument of each public call, is refused by an error of Hoodoo, or taken.

The calls and their arguments are read off their signatures, so that a new one joins without a line here, unless it has
an argument that has no default, for which :data:`GOOD` has a value. A refused call leaves every file as it was,
and no plugin is blamed for it.
"""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pytest
from hoodoo.calls import checked
from hoodoo.errors import CallError, HoodooError, PluginError
from hoodoo.kernel import kernel
from hoodoo.kernel.functions import function_names

pytestmark = pytest.mark.sampled(4)

VALUES: tuple[Any, ...] = (None, 5, 1.5, [], [None], [5], {}, {5: None}, b"x", object())
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("ts", pa.int64())])
ROWS = pa.table([[1, 2], ["oslo", "rome"], [1, 1]], schema=SCHEMA)
MORE = pa.table([[2, 3], ["rome", "oslo"], [2, 2]], schema=SCHEMA)
# Values of arguments without a default, by name: of those of one call alone, by ``call.argument``.
GOOD: dict[str, Any] = {
    "data": MORE,
    "paths": "oslo",
    "since": "earliest",
    "instant": "20240101000000000",
    "keys": [1],
    "a": "simple",
    "b": "bloom",
    "set": {"ts": 3},
    "schema": SCHEMA,
    "given": "ts = 1",
    "action": "clean",
    "index": "simple",
    "create_index.name": "by_city",
    "drop_index.name": "column_stats",
    "query.name": "incremental",
    "report.name": "files",
    "merge.source": MORE,
    "sql.statement": "SELECT 1",
    "variants.values": [1],
}


def _arguments(call: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    for parameter in inspect.signature(call).parameters.values():
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            yield parameter


def _verbs() -> list[str]:
    return sorted(
        {
            name
            for name, member in inspect.getmembers(hoodoo.Table)
            if not name.startswith("_") and not isinstance(member, property)
        }
        | set(kernel().verbs)
    )


def _functions() -> list[str]:
    # A view is of a Spark session.
    return sorted({"create", "open", *function_names()} - {"spark_view"})


def _trials(names: list[str], owner: Any) -> list[tuple[str, str]]:
    """The arguments of each call, but for the table whose method it is."""
    first = 0 if owner is hoodoo else 1
    return [(n, p.name) for n in names for p in list(_arguments(getattr(owner, n)))[first:]]


def tree(home: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "t"
    table = hoodoo.create(
        str(path),
        SCHEMA,
        record_key="id",
        partition_by="city",
        ordering="ts",
        table_type="MERGE_ON_READ",
    )
    table.insert(ROWS)
    table.upsert(MORE)
    return path


def _trial_values(
    name: str, argument: str, value: Any, call: Callable[..., Any], home: Path
) -> tuple[list[Any], dict[str, Any]]:
    """Of a call in which ``argument`` is ``value``: what is given by position, and by name."""
    args: list[Any] = []
    given: dict[str, Any] = {}
    for parameter in _arguments(call):
        key = parameter.name
        found = GOOD.get(f"{name}.{key}", GOOD.get(key))
        if key in ("path", "source") and found is None:
            found = str(home / ("new" if name == "create" else "t"))
        if key == argument:
            found = value
        elif parameter.default is not parameter.empty:
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            args.append(found)
        else:
            given[key] = found
    return args, given


def _tried(call: Callable[..., Any], name: str, argument: str, home: Path) -> list[str]:
    wrong: list[str] = []
    for value in VALUES:
        args, given = _trial_values(name, argument, value, call, home)
        before = tree(home)
        try:
            call(*args, **given)
        except HoodooError as error:
            cause = error.__cause__
            blamed = isinstance(error, PluginError) and not isinstance(cause, HoodooError | None)
            if blamed or not (error.obj and error.rule and error.fix):
                wrong.append(f"{argument}={value!r}: {error!r}")
            if changed := sorted(set(tree(home).items()) ^ set(before.items())):
                wrong.append(
                    f"{argument}={value!r}: {error}; but changed {[n for n, _ in changed][:4]}"
                )
        except Exception as error:  # what the test is to find
            wrong.append(f"{argument}={value!r}: {type(error).__name__}: {error}")
    return wrong


@pytest.mark.parametrize(("name", "argument"), _trials(_verbs(), hoodoo.Table))
def test_verb(name: str, argument: str, made: Path, tmp_path: Path, monkeypatch: Any) -> None:
    shutil.copytree(made, tmp_path / "t")
    monkeypatch.chdir(tmp_path)
    call = getattr(hoodoo.open(str(tmp_path / "t")), name)
    assert not _tried(call, name, argument, tmp_path)


@pytest.mark.parametrize(("name", "argument"), _trials(_functions(), hoodoo))
def test_function(name: str, argument: str, made: Path, tmp_path: Path, monkeypatch: Any) -> None:
    shutil.copytree(made, tmp_path / "t")
    monkeypatch.chdir(tmp_path)
    assert not _tried(getattr(hoodoo, name), name, argument, tmp_path)


@pytest.mark.parametrize("path", [None, 5, b"x", [], object()])
def test_a_path_is_a_text_or_a_path(tmp_path: Path, monkeypatch: Any, path: Any) -> None:
    """Not the text of any other value: ``hoodoo.create(None, ...)`` made a table in a directory ``None``."""
    monkeypatch.chdir(tmp_path)
    calls: list[Callable[[], Any]] = [
        lambda: hoodoo.create(path, SCHEMA, record_key="id"),
        lambda: hoodoo.open(path),
    ]
    for call in calls:
        with pytest.raises(CallError, match=r"path=.* takes a text or a path, not"):
            call()
    assert not list(tmp_path.iterdir())
    assert hoodoo.create(tmp_path / "t", SCHEMA, record_key="id").read().count() == 0


def test_values_that_passed_before_still_do() -> None:
    """What is not exactly what the annotation says, and as good."""

    def call(
        names: Sequence[str] | str = (), count: int | None = None, more: Mapping[str, Any] = {}
    ) -> Any:
        return names, count, more

    tried = checked(call)
    for names in ("a", {"a"}, {"a": 1}.keys(), np.array(["a"]), iter(["a"])):
        assert tried(names)[0] is names
    assert tried(count=np.int64(3), more=MappingProxyType({"a": 1}))[1] == 3
    with pytest.raises(
        CallError,
        match=r"hoodoo.call\(names=\[5\]\): takes a list of texts or a text, not list of int.",
    ):
        tried([5])
