"""Net: values that an option can't have are refused before anything is done, right ones are taken.

It walks the declarations, so that a new option joins without a line here. What is wrong is known here by the
kind of an option, not asked of its parser.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, OptionConflictError
from hoodoo.hookspecs import Option
from hoodoo.kernel import check_options, declared_options, kernel
from hoodoo.options.kinds import (
    Choice,
    Duration,
    Flag,
    Kind,
    Names,
    Number,
    Pattern,
    PluginName,
    Size,
    Text,
    Whole,
)
from hoodoo_standard.options import PathRules

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("ts", pa.int64())])
ROWS = pa.table([[1, 2], ["oslo", "rome"], [1, 1]], schema=SCHEMA)
OPTIONS = sorted(declared_options(), key=lambda option: option.key)
NO_TEXT: tuple[Any, ...] = (None, ["a"], b"x", {"a": 1}, ("a",))


def _beside(least: float | None, most: float | None, step: float = 1) -> Iterator[str]:
    """What is just out of bounds."""
    if least is not None:
        yield f"{least - step:g}" if step != 1 else str(int(least) - 1)
    if most is not None:
        yield f"{most + step:g}" if step != 1 else str(int(most) + 1)


def _not_whole(kind: Whole) -> list[str]:
    return ["", "many", "1.5", "1e3", "1_000", "0x10", "10 %", *_beside(kind.least, kind.most)]


def _no_size(kind: Size) -> list[str]:
    return ["", "many", "10XB", "MB", "1 2", "nan", "inf", "-1", *_beside(kind.least, kind.most)]


def _no_number(kind: Number) -> list[str]:
    limits = [f"{limit:g}" for limit in (kind.above, kind.below) if limit is not None]
    return ["", "few", "nan", "inf", "1,5", *limits, *_beside(kind.least, kind.most, 0.5)]


def _no_time(kind: Duration) -> list[str]:
    return ["", "soon", "-1", "5 fortnights", "nan", "1:30", *(["0.5"] if kind.whole else [])]


def _no_names(kind: Names) -> list[str]:
    wrong = ["no such word", f"{kind.of[0]},no such word"] if kind.of else []
    return [*wrong, *([",".join("ab"[: kind.least - 1]), " , "] if kind.least else [])]


WRONG: dict[type, Callable[[Any], list[str]]] = {
    Flag: lambda kind: ["", "maybe", "2", "-1", "truee", "ja", "t", "none", "0.0", "true,false"],
    Whole: _not_whole,
    Size: _no_size,
    Number: _no_number,
    Duration: _no_time,
    Choice: lambda kind: ["", "no such word", f"{kind.values[0]} {kind.values[0]}"],
    PluginName: lambda kind: ["", " ", "no_such_plugin", "org.apache.hudi.NoSuchClass"],
    Names: _no_names,
    Pattern: lambda kind: ["(", "[", "*", "(?P<a"],
    Text: lambda kind: [] if kind.empty else [""],
    PathRules: lambda kind: ["rome", "rome,none", "rome,0", "(,8", "rome,8;;oslo,2", "(?i)rome,8"],
}


def _plugin(kind: PluginName) -> list[str]:
    offers = kernel().offers(kind.family)
    return [
        name
        for offer in offers
        for name in (offer.name, offer.name.upper(), *offer.registration.aliases)
    ]


def _within(kind: Whole | Size | Number | Duration) -> list[str]:
    least = int(kind.least or 0)
    return [str(least + 1), f" {least + 1} ", f"{least + 1}.0"]


RIGHT: dict[type, Callable[[Any], list[str]]] = {
    Flag: lambda kind: [
        spelt(word)
        for word in ("true", "1", "yes", "on", "false", "0", "no", "off")
        for spelt in (str, str.upper, str.title, lambda text: f" {text}\t")
    ],
    Whole: _within,
    Size: lambda kind: [
        "2MB",
        "2 MiB",
        "2mb",
        " 2m ",
        "0.5 GB",
        "1g",
        "4000000b",
        *_within(kind)[:2],
    ],
    Number: lambda kind: ["0.5", "5e-1", " .5 "],
    Duration: lambda kind: (
        ["60 s", "1min", "1 Minute", "120000ms", "2h", "1 d", "60"]
        if kind.unit in ("ms", "s")
        else ["2h", "1 d", "120min", "3"]
    ),
    Choice: lambda kind: [
        spelt(value)
        for value in kind.values
        for spelt in (str, str.upper, str.lower, lambda text: f" {text} ")
    ],
    PluginName: _plugin,
    Names: lambda kind: [",".join(kind.of or "abc"), " , ".join(kind.of or "abc")],
    Pattern: lambda kind: ["2024/.*", ",", "a|b"],
    Text: lambda kind: ["any text"],
    PathRules: lambda kind: ["", " ", "rome,8;oslo,2", " ^2024-0[1-3] , 8 ;"],
}


def _case(kind: Kind[Any], table: dict[type, Callable[[Any], list[str]]]) -> list[str]:
    return table[type(kind)](kind)


def _tree(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("there") / "t"
    table = hoodoo.create(str(path), SCHEMA, record_key="id", partition_by="city", ordering="ts")
    table.upsert(ROWS)
    return path


def test_the_net_knows_every_kind() -> None:
    """A kind that is new, or an option without a type of ours, has to say here what is wrong of it."""
    for option in OPTIONS:
        assert type(option.kind) in WRONG and type(option.kind) in RIGHT, option.key
    assert len(OPTIONS) > 130
    assert sum(len(_case(option.kind, WRONG)) for option in OPTIONS) > 700


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.key)
def test_wrong_values_are_refused_before_anything_is_done(
    option: Option, there: Path, tmp_path: Path
) -> None:
    before, fresh = _tree(there), tmp_path / "fresh"
    for name, value in itertools.product(option.names, (*_case(option.kind, WRONG), *NO_TEXT)):
        for act in (
            lambda given: hoodoo.create(str(fresh), SCHEMA, record_key="id", options=given),
            lambda given: hoodoo.open(str(there), given),
        ):
            with pytest.raises(ConfigError) as caught:
                act({name: value})
            assert name in str(caught.value) and repr(value) in str(caught.value), caught.value
            assert caught.value.fix
        assert not fresh.exists()
    assert _tree(there) == before


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.key)
def test_right_values_are_taken_in_any_spelling(option: Option) -> None:
    for name, value in itertools.product(option.names, _case(option.kind, RIGHT)):
        found = check_options({name: value})
        assert set(found) == {option.key}, f"{name}={value!r}"
        # The plain spelling is right, too, and means the same.
        assert check_options(dict(found)) == found
        assert option.read(found) == option.parse(value)


@pytest.mark.parametrize(
    "option",
    # Of a property that is not assumed the table would have to say it.
    [o for o in OPTIONS if o.default is not None and (o.assumed or not o.table_property)],
    ids=lambda option: option.key,
)
def test_a_table_is_opened_with_every_default(option: Option, there: Path) -> None:
    assert option.default is not None
    hoodoo.open(str(there), {name: option.default for name in option.names})


@pytest.mark.parametrize(
    "option", [o for o in OPTIONS if len(o.names) > 1], ids=lambda option: option.key
)
def test_two_names_of_an_option_agree_or_are_refused(option: Option) -> None:
    one, other = (
        sorted(set(map(option.spell, map(option.parse, _case(option.kind, RIGHT)))))[n]
        for n in (0, -1)
    )
    for name in option.names[1:]:
        assert check_options({option.key: one, name: one}) == {option.key: one}
        if one != other:
            with pytest.raises(OptionConflictError, match=name.replace(".", r"\.")):
                check_options({option.key: one, name: other})
