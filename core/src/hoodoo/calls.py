"""Calls of public functions that can't be right: a misspelt argument, one too many, one that is
missing, a value of a kind that the function does not take.

Python's own TypeError names the argument and stops there. What is made of it here says what was
probably meant; it is a TypeError all the same. A call that is right pays for one more frame, and a
look at its values."""

from __future__ import annotations

import difflib
import functools
import inspect
import os
import reprlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib import resources
from types import UnionType
from typing import Any, NoReturn, TypeVar, Union, cast, get_args, get_origin

from hoodoo.errors import CallError

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)

# How kinds of values are called in messages, and what one looks like.
_KINDS: dict[Any, tuple[str, str]] = {
    str: ("a text", '"..."'), int: ("a whole number", "1"), type(None): ("None", "None"),
    Sequence[str]: ("a list of texts", '["..."]'),
    Mapping[str, Any]: ("a dict with texts as keys", '{"...": ...}'),
    Mapping[str, str]: ("a dict of texts", '{"...": "..."}'),
    Callable: ("a function", "print"), os.PathLike: ("a path", 'Path("...")'),
}  # fmt: skip

# Names of a first argument that is none of the call's: the verbs of a table are functions over its
# handle.
_OWNERS = ("self", "cls", "table")
_ANY = (inspect.Parameter.empty, Any, object, bool, float)


def checked(function: Function, of: Callable[[Any], Any] | None = None) -> Function:
    """``function``, whose calls with wrong arguments raise :class:`~hoodoo.errors.CallError`. Its
    name, signature and docstring stay. ``of``: the first argument is what this answers of the
    caller's."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        refuse_values(function, args, kwargs)
        given = (of(args[0]), *args[1:]) if of is not None and args else args
        try:
            return function(*given, **kwargs)
        except TypeError as error:
            found = wrong_call(error, function, args, kwargs)
            if found is None:
                raise
            raise found from None

    return cast(Function, call)


def wrong_call(
    error: TypeError, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> CallError | None:
    """What to raise in the frame that made a wrong call of ``function``; None for a right one."""
    # Deeper frames mean that the call was fine, and something in it was not.
    if error.__traceback__ is None or error.__traceback__.tb_next is not None:
        return None
    return why(function, args, kwargs)


def refuse_values(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> None:
    """CallError for a value that is not what the annotation of its argument says, before anything
    is done. Any value will do where the annotation says Any, bool or a protocol."""
    names, kinds = _judged(function)
    for name, value in (*zip(names, args, strict=False), *kwargs.items()):
        takes = kinds.get(name, ())
        if takes and not any(_is(value, kind) for kind in takes):
            known = [_KINDS.get(kind, (kind.__name__, f"{kind.__name__}(...)")) for kind in takes]
            examples = [f"{name}={example}" for _word, example in known if example != "None"]
            raise CallError(
                f"{_name(function, args)}({name}={reprlib.repr(value)})",
                f"takes {' or '.join(word for word, _example in known)}, not {_kind_of(value)}.",
                f"Give {' or '.join(examples)}.",
            )


@functools.cache
def _judged(function: Callable[..., Any]) -> tuple[tuple[str, ...], dict[str, tuple[Any, ...]]]:
    """Names of the arguments by position, and the kinds of those that do not take all values."""
    parameters = inspect.signature(function).parameters.values()
    scope = getattr(inspect.unwrap(function), "__globals__", {})
    kinds: dict[str, tuple[Any, ...]] = {}
    for at, parameter in enumerate(parameters):
        said = parameter.annotation
        try:
            said = eval(said, scope) if isinstance(said, str) else said
        except NameError:  # imported for type checkers alone
            continue
        several = get_args(said) if get_origin(said) in (Union, UnionType) else (said,)
        several = tuple(get_origin(k) if get_origin(k) in _KINDS else k for k in several)
        is_owner = not at and parameter.name in _OWNERS
        if not is_owner and all(kind in _KINDS or _is_plain(kind) for kind in several):
            kinds[parameter.name] = several
    by_name = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    return tuple(p.name for p in parameters if p.kind not in by_name), kinds


def _is_plain(kind: Any) -> bool:
    """Whether values of other classes are wrong: some classes have what passes for them."""
    if not inspect.isclass(kind) or get_origin(kind) is not None or kind in _ANY:
        return False
    return not getattr(kind, "_is_protocol", False)


def _is(value: Any, kind: Any) -> bool:
    if kind is int:
        return hasattr(value, "__index__") or (isinstance(value, float) and value.is_integer())
    if kind == Sequence[str]:
        if isinstance(value, (bytes, Mapping)) or not isinstance(value, Iterable):
            return False  # an iterator can't be read twice
        return not isinstance(value, Collection) or all(isinstance(one, str) for one in value)
    if get_origin(kind) is Mapping:
        return hasattr(value, "keys") and all(isinstance(key, str) for key in value)
    return isinstance(value, kind)


def _kind_of(value: Any) -> str:
    kind = type(value).__name__
    if not isinstance(value, Collection) or isinstance(value, (str, bytes)):
        return kind
    kinds = dict.fromkeys(type(one).__name__ for one in value if not isinstance(one, str))
    return f"{kind} of {', '.join(kinds)}" if kinds else kind


def refuse_options(
    call: str, function: Callable[..., Any], first: int, options: Mapping[str, Any]
) -> None:
    """CallError where ``function`` does not take ``options`` by name after its ``first`` arguments,
    or lacks one. ``call`` is how the user's call begins, for the message."""
    every = list(inspect.signature(function).parameters.values())[first:]
    named = {p.name: p for p in every if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    any_name = any(p.kind is p.VAR_KEYWORD for p in every)
    plain = [p.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for p in named.values()]
    usage = f"It is called as {', '.join([call, *([_usage(plain)] if plain else [])])})."
    for key in options:
        if key not in named and not any_name:
            raise CallError(
                f"{call}, {key}=...)", f"there is no option {key!r}.", f"{_near(key, named)}{usage}"
            )
    lacking = [n for n, p in named.items() if p.default is p.empty and n not in options]
    if lacking:
        raise CallError(f"{call})", f"lacks {' and '.join(map(repr, lacking))}.", usage)


def checked_methods(kind: Class) -> Class:
    """A class whose own public methods are :func:`checked`."""
    for name, member in list(vars(kind).items()):
        if inspect.isfunction(member) and not name.startswith("_"):
            setattr(kind, name, checked(member))
        elif isinstance(member, classmethod) and not name.startswith("_"):
            setattr(kind, name, classmethod(checked(member.__func__)))
    return kind


def why(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> CallError | None:
    """What is wrong with the arguments of a call, by the signature; None if nothing is."""
    parameters = dict(inspect.signature(function).parameters)
    owner, name = _owner(function, args), _name(function, args)
    if owner is not None:
        parameters.pop(next(iter(parameters)))
        args = args[1:]
    usage = f"It is called as {name}({_usage(list(parameters.values()))})."
    unknown = [key for key in kwargs if key not in parameters]
    if unknown:
        return CallError(
            f"{name}({unknown[0]}=...)", f"there is no argument {unknown[0]!r}.",
            f"{_hint(unknown[0], parameters)}{getattr(owner, 'call_hint', '')}{usage}",
        )  # fmt: skip
    positional = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    if len(args) > len(positional):
        most = f"{len(positional)} positional argument{'' if len(positional) == 1 else 's'}"
        return CallError(name, f"takes {most}, and {len(args)} were given.", usage)
    given = set(positional[: len(args)])
    twice = [key for key in kwargs if key in given]
    if twice:
        return CallError(
            name, f"got the argument {twice[0]!r} twice, by position and by name.", usage
        )
    lacking = [
        p.name
        for p in parameters.values()
        if p.default is p.empty and p.name not in given and p.name not in kwargs
        and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]  # fmt: skip
    if lacking:
        return CallError(name, f"lacks {' and '.join(map(repr, lacking))}.", usage)
    return None


def _owner(function: Callable[..., Any], args: tuple[Any, ...]) -> type | None:
    """The class whose method was called."""
    if not args or next(iter(inspect.signature(function).parameters), "") not in _OWNERS:
        return None
    return args[0] if inspect.isclass(args[0]) else type(args[0])


def _name(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    owner = _owner(function, args)
    return f"{'hoodoo' if owner is None else owner.__name__}.{function.__name__}"


def _near(given: str, names: Iterable[str]) -> str:
    known = list(names)
    plain = {name.replace("_", ""): name for name in known}
    said = noted("words.txt").get(f"argument {given.lower()}", "")
    near = difflib.get_close_matches(given.lower().replace("_", ""), plain, n=1, cutoff=0.7)
    spelt = plain[near[0]] if near and not said.endswith(".") else ""
    meant = next((w for w in said.split() if w in known and said[-1] != "."), spelt)  # no sentence
    return f"Did you mean {meant!r}? " if meant else f"{said} " * said.endswith(".")


@functools.cache
def noted(file: str) -> dict[str, str]:
    """The names in a file of the room ``model``, one a line, and what is said of each after a #."""
    text = resources.files("hoodoo.model").joinpath(file).read_text("utf-8")
    parts = (line.partition("#") for line in text.splitlines())
    return {name.strip(): said.strip() for name, _, said in parts if name.strip()}


def elsewhere(owner: str, name: str) -> str:
    """The end of an error: what ``name``, which other libraries give to ``owner``, is here."""
    here = noted("words.txt").get(f"{owner}.{name}")
    return f". Fix: {here}." if here else ""


def lacks(what: str, owner: str, name: str, *_args: Any, of: Any = None, **_more: Any) -> NoReturn:
    """Raise the error of a name that ``what`` lacks; ``owner`` is it among the words of others."""
    said = elsewhere(owner, name)
    if not said and of is not None and name[:1] != "_":
        near = nearest(name, (n for n in dir(of) if n[:1] != "_"))
        said = f". Fix: {near}." if near else ""
    raise AttributeError(f"{what} {name!r}{said}", name=name, obj=of)


def is_a_call(function: Callable[..., Any], *methods: str) -> None:
    """In other libraries this verb is an object with ``methods``: they raise AttributeError."""
    for verb, name in ((function.__name__, name) for name in methods):
        setattr(function, name, functools.partial(lacks, f"table.{verb} has no", verb, name))


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The one of ``names`` that ``name`` is probably meant to be: in any case, the fewest letters
    are one too many, one too few, others, or in the place of their neighbour. None where these are
    many."""
    low = name.lower()
    found = min(((_changes(low, n.lower()), n) for n in names), default=(len(low), ""))
    most = max(len(low) // 2 if len(low) < 6 else 2, len(low) // 3)
    return found[1] if found[0] <= most else None


def _changes(one: str, other: str) -> int:
    before, now = [0], list(range(len(other) + 1))
    for i, a in enumerate(one):
        older, before, now = before, now, [i + 1]
        for j, b in enumerate(other):
            now.append(min(before[j + 1] + 1, now[j] + 1, before[j] + (a != b)))
            if i and j and (a, b) == (other[j - 1], one[i - 1]):
                now[-1] = min(now[-1], older[j - 1] + 1)
    return now[-1]


def _hint(given: str, names: Iterable[str]) -> str:
    belongs = "options" in (given.lower(), noted("words.txt").get(f"argument {given.lower()}"))
    said = "Options belong to an open table: hoodoo.open(path, options={...}). "
    return _near(given, names) or said * belongs


def _usage(parameters: list[inspect.Parameter]) -> str:
    named = [n for n, p in enumerate(parameters) if p.kind is p.KEYWORD_ONLY]
    shown = [_shown(p) for p in parameters]
    if named:
        shown.insert(named[0], "*")
    return ", ".join(shown)


def _shown(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"**{parameter.name}"
    return parameter.name if parameter.default is parameter.empty else f"{parameter.name}=..."
