"""Declared: rules that follow from what a Protocol says, by the types of its members and
:mod:`hoodoo.hookspecs.answers`.

A rule is made once for each member; where a member needs more than can be declared, its family's
module has a function (:func:`rule`)."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from hoodoo.hookspecs import FAMILIES, answers
from hoodoo.hookspecs.family import WITHOUT, Optional, members
from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.seam import (
    Ask,
    Checked,
    Kind,
    Prepare,
    Rule,
    iterated,
    may_travel,
    wrapped,
)
from hoodoo.kernel.answers.wrong import Who, Wrong, says
from hoodoo.kernel.families import add_family

# "Protocol.member" -> the function that judges it.
RULES: dict[str, Rule] = {}
PREPARED: dict[str, Prepare] = {}
# Kinds whose rules follow from their arguments, by name (:func:`by_hand`).
BY_HAND: dict[str, Kind] = {}
# Members that say by a FileNotFoundError that something is not there.
_SAYS_MISSING = {"storage": frozenset({"get", "open"}), "participant": frozenset({"list_files"})}
# A store may be one that this process alone can see; it is no fault until a worker needs it.
_STAYS = frozenset({"storage"})


def rule(*names: str) -> Callable[[Rule], Rule]:
    """The function judges these members, each as ``Protocol.member``."""

    def note(judge: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, judge))
        return judge

    return note


def prepare(name: str) -> Callable[[Prepare], Prepare]:
    """The function makes the arguments that a plugin gets for ``Protocol.member``."""

    def note(make: Prepare) -> Prepare:
        PREPARED[name] = make
        return make

    return note


def by_hand(name: str, **given: Any) -> Kind:
    """A kind whose members stand in its module."""
    BY_HAND[name] = made = Kind(name, again, **given)
    return made


def again(kind: str, inner: Any, who: Who, terms: Any, declared_at: str = "") -> Any:
    """A plugin behind the seam, where it is unpickled."""
    add_family(kind, declared_at)
    return wrapped(kind_of(kind), inner, who, terms)


def checked(family: str, obj: Any, who: Who) -> Any:
    """``obj``, a plugin of ``family``, behind the seam. PluginError if workers need it and it can't
    travel."""
    if isinstance(obj, Checked):
        return obj
    kind = kind_of(family)
    if kind.travels and family not in _STAYS:
        may_travel(obj, who)
    return wrapped(kind, obj, who)


@cache
def kind_of(name: str) -> Kind:
    """The family, or the part of what plugins make, of this name."""
    if name in BY_HAND:
        return BY_HAND[name]
    if name in FAMILIES:
        family = FAMILIES[name]
        protocols, lacking = (*family.protocols, *family.optional), family.may_lack
        return _kind(name, protocols, family.travels, lacking, family.declared_at)
    family = next(found for found in FAMILIES.values() if name in found.parts)
    return _kind(name, family.parts[name], False, dict(family.parts_lack))


def _kind(
    name: str,
    protocols: tuple[type, ...],
    travels: bool,
    lacking: dict[str, Optional],
    at: str = "",
) -> Kind:
    says_missing = _SAYS_MISSING.get(name, frozenset())
    kind = Kind(
        name, again, says_missing=says_missing, travels=travels, protocols=protocols, declared_at=at
    )
    for protocol in protocols:
        for member, is_method in members(protocol).items():
            ruled = kind.methods if is_method else kind.properties
            ruled[member] = rule_of(protocol, member)
            if (prepared := PREPARED.get(f"{protocol.__name__}.{member}")) is not None:
                kind.prepare[member] = prepared
    given = {n: o.default for n, o in lacking.items() if o.default is not WITHOUT}
    kind.defaults.update((n, given[n]) for n in (*kind.properties, *kind.methods) if n in given)
    return kind


def part(answer: Any, ask: Ask, name: str, terms: Any = None) -> Any:
    """``answer``, which answers in place of the plugin from now on, behind the seam of the kind
    ``name``."""
    kind = kind_of(name)
    protocol = kind.protocols[0]
    if not _looks(protocol)(answer):
        raise Wrong(says(answer), _noun(protocol))
    if kind.travels:
        may_travel(answer, ask.who)
    return wrapped(kind, answer, ask.who, terms)


def rule_of(protocol: type, name: str) -> Rule | None:
    """The rule of a member; None for one that answers nothing."""
    owner = next(p for p in protocol.__mro__ if name in {*p.__dict__, *inspect.get_annotations(p)})
    if (special := RULES.get(f"{owner.__name__}.{name}")) is not None:
        return special
    member = owner.__dict__.get(name)
    function = member.fget if isinstance(member, property) else member
    declared = getattr(function, "__answers__", None)
    if declared is not None:
        return _BY_DECLARATION[type(declared)](declared, function)
    said = owner.__annotations__[name] if function is None else function.__annotations__["return"]
    found = SimpleNamespace(__annotations__={"it": said})
    hint = get_type_hints(found, vars(sys.modules[owner.__module__]))["it"]
    if hint in (Any, NoneType):
        return None
    kinds = _kinds_of_protocols(tuple(FAMILIES))
    kind = next((kinds[one] for one in _options(hint) if one in kinds), None)
    return _typed(hint) if kind is None else _made(hint, kind, is_method=inspect.isfunction(member))


@cache
def _kinds_of_protocols(names: tuple[str, ...]) -> dict[type, str]:
    """The Protocols of what is put behind the seam where a member answers it, and its kind."""
    families = {name: FAMILIES[name] for name in names}
    of_families = {p: name for name, family in families.items() for p in family.protocols}
    parts = {kinds[0]: n for family in families.values() for n, kinds in family.parts.items()}
    return {**of_families, **parts}


# --- what is declared -----------------------------------------------------------------------------
def _argument(function: Callable[..., Any], path: str) -> Callable[..., Any]:
    """What a call gives the argument ``path``, or an attribute of it."""
    name, _, rest = path.partition(".")
    at = [p for p in inspect.signature(function).parameters if p != "self"].index(name)

    def given(args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        found = args[at] if at < len(args) else named[name]
        return attrgetter(rest)(found) if rest else found

    return given


def _column(declared: answers.Column, function: Callable[..., Any]) -> Rule:
    like = _argument(function, declared.like)

    def judge(answer: Any, ask: Ask, *args: Any, **named: Any) -> pa.Array:
        shapes.array(answer, declared.type, len(like(args, named)), declared.what)
        if declared.least is None:
            return answer
        below = None if declared.below is None else getattr(ask.inner, declared.below)
        return shapes.between(answer, declared.least, below)

    return judge


def _some(declared: answers.Some, function: Callable[..., Any]) -> Rule:
    of, wanted = _argument(function, declared.of), f"some of the {declared.wanted} given, each once"

    def judge(answer: Any, ask: Ask, *args: Any, **named: Any) -> tuple[Any, ...]:
        given = tuple(of(args, named))
        found = shapes.items(answer, object, wanted)
        return found if found == given else shapes.chosen(found, given, wanted)

    return judge


def _whole(declared: answers.Whole, function: Callable[..., Any]) -> Rule:
    def judge(answer: Any, ask: Ask, *args: Any, **named: Any) -> int:
        below = None if declared.below is None else getattr(ask.inner, declared.below)
        return shapes.whole(answer, declared.least, below)

    return judge


def _rows(declared: answers.Rows, function: Callable[..., Any]) -> Rule:
    def judge(answer: Any, ask: Ask, *args: Any, **named: Any) -> Any:
        schema = getattr(answer, "schema", None)
        if schema is None or isinstance(answer, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
            raise Wrong(says(answer), "a stream of the context's engine")
        shapes.schema(schema, declared.schema, f"a stream of {declared.name}")
        return answer

    return judge


_BY_DECLARATION: dict[type, Callable[..., Rule]] = {
    answers.Column: _column,
    answers.Some: _some,
    answers.Whole: _whole,
    answers.Rows: _rows,
    answers.Names: lambda declared, function: (
        lambda answer, ask, *args, **named: shapes.names(answer)
    ),
    answers.OneOf: lambda declared, function: (
        lambda answer, ask, *args, **named: shapes.one_of(answer, declared.values)
    ),
}


# --- what its type says ---------------------------------------------------------------------------
def _made(hint: Any, name: str, is_method: bool) -> Rule:
    judge = _typed(hint)

    def made(answer: Any, ask: Ask, *args: Any, **named: Any) -> Any:
        if judge(answer, ask) is None:
            return None
        kind = kind_of(name)
        if is_method and kind.travels:
            may_travel(answer, ask.who)
        return wrapped(kind, answer, ask.who)

    return made


def _typed(hint: Any) -> Rule:
    fits, wanted = _test(hint), _noun(hint)
    origin = get_origin(hint)
    if origin is None or origin is UnionType or issubclass(origin, Mapping):

        def judge(answer: Any, ask: Ask, *args: Any, **named: Any) -> Any:
            if not fits(answer):
                raise Wrong(says(answer), wanted)
            return answer

        return judge
    of = get_args(hint)[0]
    one, fits_one = _typed(of), _test(of)

    def judge_items(answer: Any, ask: Ask, *args: Any, **named: Any) -> Any:
        if not fits(answer):
            raise Wrong(says(answer), wanted)
        if not isinstance(answer, tuple | list):
            return iterated(answer, ask, one)
        for item in answer:
            if not fits_one(item):
                raise Wrong(f"{says(answer)} with {says(item)} in it", wanted)
        return tuple(answer)

    return judge_items


def _options(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _test(hint: Any, inside: bool = False) -> Callable[[Any], bool]:
    """Make the test whether an answer has the type ``hint``; it does not check the types of items.
    ``inside`` a mapping a text may be empty."""
    origin = get_origin(hint)
    if hint is Any:
        return lambda answer: True
    if origin in (Union, UnionType):
        tests = [_test(one, inside) for one in get_args(hint)]
        return lambda answer: any(test(answer) for test in tests)
    if origin is not None and issubclass(origin, Mapping):
        key, value = (_test(one, inside=True) for one in get_args(hint))
        return lambda answer: (
            isinstance(answer, Mapping) and all(key(k) and value(v) for k, v in answer.items())
        )
    if origin is not None and issubclass(origin, Iterable):
        wanted = tuple | list if issubclass(origin, Sequence) else Iterable
        return lambda answer: isinstance(answer, wanted) and not isinstance(answer, str | bytes)
    kind = origin or hint
    if kind is str:
        return lambda answer: isinstance(answer, str) and (inside or answer != "")
    if kind is int:
        return lambda answer: (
            isinstance(answer, int) and not isinstance(answer, bool) and answer >= 0
        )
    if getattr(kind, "_is_protocol", False):
        lacking = {name for family in FAMILIES.values() for name in family.parts_lack}
        return partial(_has_all, names=tuple(n for n in members(kind) if n not in lacking))
    return lambda answer: isinstance(answer, kind)


_looks = cache(_test)  # of Protocols: their members are looked up once


def _has_all(answer: Any, names: tuple[str, ...]) -> bool:
    # The class first: properties of a reader may cost a look at the file.
    return answer is not None and all(hasattr(type(answer), n) or hasattr(answer, n) for n in names)


def _noun(hint: Any, many: bool = False) -> str:
    """What an answer of the type ``hint`` is called."""
    origin, options = get_origin(hint), _options(hint)
    if len(options) > 1:
        named = [_noun(one, many) for one in options if one is not NoneType]
        return " or ".join(named) + (", or None" if NoneType in options else "")
    for kind, words in _WORDS.items():
        if hint is kind:
            return words[many]
    if origin is not None and issubclass(origin, Mapping):
        key, value = (_noun(one, many=True) for one in get_args(hint))
        return f"a mapping of {key} to {value}"
    if origin is not None and issubclass(origin, Iterable):
        of = _noun(get_args(hint)[0], many=True)
        return (
            f"a tuple or a list of {of}" if issubclass(origin, Sequence) else f"an iterable of {of}"
        )
    name = f"pyarrow.{hint.__name__}" if hint.__module__.startswith("pyarrow") else hint.__name__
    return name if many else f"{'an' if name[0] in 'AEIO' else 'a'} {name}"


_WORDS: dict[Any, tuple[str, str]] = {
    Any: ("anything", "anything"),
    bool: ("True or False", "True or False"),
    bytes: ("bytes", "bytes"),
    int: ("a whole number of at least 0", "whole numbers of at least 0"),
    str: ("a text that is not empty", "texts"),
}
