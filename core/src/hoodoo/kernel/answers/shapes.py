"""What answers of several families have in common. Each function returns the answer or raises
Wrong.

Arrays are judged by type, length and counts of nulls, and by one pass of Arrow's compute where
values have a range; never value by value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hoodoo.kernel.answers.wrong import Wrong, says


def instance(answer: Any, kind: Any, wanted: str) -> Any:
    """An object of a class, or of one of several."""
    if not isinstance(answer, kind):
        raise Wrong(says(answer), wanted)
    return answer


def having(answer: Any, members: tuple[str, ...], wanted: str) -> Any:
    """An object that has these members."""
    if answer is None or not all(hasattr(answer, name) for name in members):
        raise Wrong(says(answer), wanted)
    return answer


def text(answer: Any, wanted: str = "a text that is not empty") -> str:
    """Return ``answer`` if it is a text that is not empty. Raises Wrong, which says ``wanted``."""
    if not isinstance(answer, str) or not answer:
        raise Wrong(says(answer), wanted)
    return answer


def one_of(answer: Any, values: tuple[str, ...]) -> str:
    """Return ``answer`` if it is one of the texts ``values``. Raises Wrong."""
    if not isinstance(answer, str) or answer not in values:
        raise Wrong(says(answer), " or ".join(values))
    return answer


def flag(answer: Any) -> bool:
    """Return ``answer`` if it is True or False; 0 and 1 are refused. Raises Wrong."""
    return bool(instance(answer, bool, "True or False"))


def whole(answer: Any, least: int, below: int | None = None) -> int:
    """Return ``answer`` if it is an int with ``least <= answer < below`` (None: no upper bound).
    Raises Wrong."""
    wanted = f"a whole number of at least {least}" + ("" if below is None else f", below {below}")
    if not isinstance(answer, int) or isinstance(answer, bool):
        raise Wrong(says(answer), wanted)
    if answer < least or (below is not None and answer >= below):
        raise Wrong(says(answer), wanted)
    return answer


def names(answer: Any) -> tuple[str, ...]:
    """Names of columns, each once."""
    wanted = "a tuple of names of columns, each once"
    instance(answer, tuple | list, wanted)
    for name in answer:
        if not isinstance(name, str) or not name:
            raise Wrong(says(answer), wanted)
    if len(set(answer)) < len(answer):
        raise Wrong(f"{tuple(answer)!r}", wanted)
    return tuple(answer)


def items(answer: Any, kind: type, wanted: str) -> tuple[Any, ...]:
    """Objects of one class. A text or a generator is no answer: the items of a text are texts
    again, and a generator is empty when it is read a second time."""
    instance(answer, tuple | list, wanted)
    for item in answer:
        if not isinstance(item, kind):
            raise Wrong(f"{says(answer)} with {says(item)} in it", wanted)
    return tuple(answer)


def chosen(answer: tuple[Any, ...], given: Iterable[Any], wanted: str) -> tuple[Any, ...]:
    """Some of what was given, each once. Compared by equality: plugins may copy."""
    given, same = list(given), set(map(id, answer))
    if len(same) == len(answer) and same.issubset(map(id, given)):
        return answer  # nobody has copied: what has many parts is slow to compare
    left = set(given)
    for item in answer:
        if item not in left:
            raise Wrong(f"one that was not given, or one twice: {str(item)[:200]}", wanted)
        left.discard(item)
    return answer


def array(answer: Any, kind: pa.DataType, rows: int, what: str = "values") -> pa.Array:
    """One array without nulls, as long as the rows."""
    wanted = f"a pyarrow.Array of {rows} {what} of type {kind}, none of them null"
    if not isinstance(answer, pa.Array) or answer.type != kind or len(answer) != rows:
        raise Wrong(says(answer), wanted)
    if answer.null_count:
        raise Wrong(says(answer), wanted)
    return answer


def shortest(answer: pa.Array) -> int:
    """Bytes of the shortest text; 1 where there is none."""
    found = pc.min(pc.binary_length(answer)).as_py()
    return 1 if found is None else int(found)


def between(answer: pa.Array, least: int, below: int | None = None) -> pa.Array:
    """Numbers of a range."""
    ends = pc.min_max(answer)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if low is not None and (low < least or (below is not None and high >= below)):
        limit = "" if below is None else f" and below {below}"
        raise Wrong(f"numbers from {low} to {high}", f"numbers of at least {least}{limit}")
    return answer


def schema(answer: Any, wanted: pa.Schema, what: str) -> pa.Schema:
    """The same names and types, in the same order."""
    if not isinstance(answer, pa.Schema):
        raise Wrong(says(answer), what)
    if not answer.equals(wanted):
        raise Wrong(f"the schema {_fields(answer)}", f"{what}: {_fields(wanted)}")
    return answer


def _fields(found: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in found)
