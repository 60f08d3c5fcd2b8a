"""Calls of public functions that can't be right: a misspelt argument, one too many, one that is missing.

Python's own TypeError names the argument and stops there. What is made of it here says what was
probably meant; it is a TypeError all the same. A call that is right pays for one more frame.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from hoodoo.errors import CallError

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)

# What other libraries call it. Suggested where the function has an argument of that name.
_MEANT = {
    "filter": "where", "filters": "where", "predicate": "where", "condition": "where",
    "select": "columns", "projection": "columns", "usecols": "columns",
    "timestamp": "as_of", "version": "as_of", "snapshot_id": "as_of",
    "key": "record_key", "keys": "record_key", "primary_key": "record_key",
    "precombine": "ordering", "order_by": "ordering", "sort_by": "ordering",
    "storage_options": "options", "config": "options", "conf": "options", "hudi_options": "options",
    "df": "data", "rows": "data", "table": "data", "type": "table_type",
}  # fmt: skip


def checked(function: Function) -> Function:
    """``function``, whose calls with wrong arguments raise :class:`~hoodoo.errors.CallError`. Its name,
    signature and docstring stay."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            found = wrong_call(error, function, args, kwargs)
            if found is None:
                raise
            raise found from None

    return cast(Function, call)


def wrong_call(
    error: TypeError, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> CallError | None:
    """What to raise where ``error`` came of a call of ``function`` itself, whose arguments were wrong; None where
    the call was right. To be called in the frame that called."""
    # Deeper frames mean that the call was fine, and something in it was not.
    if error.__traceback__ is None or error.__traceback__.tb_next is not None:
        return None
    return _why(function, args, kwargs)


def refuse_options(
    call: str, function: Callable[..., Any], first: int, options: Mapping[str, Any]
) -> None:
    """CallError where ``function`` does not take ``options`` by name after its ``first`` arguments, or lacks one.
    ``call`` is how the user's call begins, for the message."""
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


def _why(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> CallError | None:
    signature = inspect.signature(function)
    parameters = dict(signature.parameters)
    first = next(iter(parameters), "")
    # Verbs of a table are functions over its handle.
    is_method = first in ("self", "cls", "table")
    kind: type | None = None
    name = f"hoodoo.{function.__name__}"
    if is_method and args:
        kind = args[0] if inspect.isclass(args[0]) else type(args[0])
        name, args = f"{kind.__name__}.{function.__name__}", args[1:]
        parameters.pop(first)
    usage = f"It is called as {name}({_usage(list(parameters.values()))})."
    unknown = [key for key in kwargs if key not in parameters]
    if unknown:
        return CallError(
            f"{name}({unknown[0]}=...)", f"there is no argument {unknown[0]!r}.",
            f"{_hint(unknown[0], parameters)}{getattr(kind, 'call_hint', '')}{usage}",
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


def _near(given: str, names: Iterable[str]) -> str:
    known = list(names)
    plain = {name.replace("_", ""): name for name in known}
    near = difflib.get_close_matches(given.lower().replace("_", ""), plain, n=1, cutoff=0.7)
    meant = plain[near[0]] if near else _MEANT.get(given.lower())
    return f"Did you mean {meant!r}? " if meant in known else ""


def _hint(given: str, names: Iterable[str]) -> str:
    if near := _near(given, names):
        return near
    if given.lower() == "options" or _MEANT.get(given.lower()) == "options":
        return "Options belong to an open table: hoodoo.open(path, options={...}). "
    return ""


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
