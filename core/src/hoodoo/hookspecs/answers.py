"""What members of Protocols answer, beyond the type that their signature says: data, which the
kernel checks.

Of a member that has none, the annotation is the whole declaration: what it answers is of this type;
a text is not empty, a whole number not negative, and what is a Protocol has its members."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pyarrow as pa
from attrs import field, frozen

F = TypeVar("F", bound=Callable[..., Any])


@frozen
class Whole:
    """A whole number of at least ``least``, below the attribute ``below`` of the plugin."""

    least: int = 0
    below: str | None = None


@frozen
class OneOf:
    """One of these texts."""

    values: tuple[str, ...]


@frozen
class Names:
    """A tuple of names of columns, each once."""


@frozen
class Column:
    """One array of ``type`` without nulls, as long as the argument ``like``: ``what`` it holds.
    Numbers of at least ``least``, below the attribute ``below`` of the plugin."""

    type: pa.DataType = field(eq=False)
    like: str
    what: str = "values"
    least: int | None = None
    below: str | None = None


@frozen
class Some:
    """Some of the items of the argument ``of``, each once; ``group.slices``: of an attribute of
    it."""

    of: str
    wanted: str


@frozen
class Rows:
    """A stream of this schema."""

    schema: pa.Schema
    name: str


Declared = Whole | OneOf | Names | Column | Some | Rows


def answers(declared: Declared) -> Callable[[F], F]:
    """Of a member of a Protocol: what it answers."""

    def mark(member: F) -> F:
        member.__answers__ = declared  # type: ignore[attr-defined]
        return member

    return mark
