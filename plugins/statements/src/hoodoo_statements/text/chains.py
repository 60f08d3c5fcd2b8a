"""Chains: AND and OR of many parts, without a call within a call for each; and texts that are
nested too deeply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from hoodoo.errors import ConfigError

Part = TypeVar("Part")
_SHOWN = 60  # characters of a text that is nested too deeply


def flat(tree: Any) -> Iterator[Any]:
    """The operands of a chain of AND or OR, in order; there may be thousands."""
    kind, stack = type(tree), [tree]
    while stack:
        node = stack.pop()
        inner = node.unnest()
        if isinstance(inner, kind):
            stack += [inner.expression, inner.this]
        else:
            yield node


def joined(parts: Sequence[Part], join: Callable[[Part, Part], Part]) -> Part:
    """``parts`` joined by pairs, pairs of pairs and so on: what comes out is nested as little as
    can be."""
    while len(parts) > 1:
        pairs = [join(a, b) for a, b in zip(parts[::2], parts[1::2])]
        parts = [*pairs, *parts[len(pairs) * 2 :]]
    return parts[0]


@contextmanager
def shallow(what: str, text: str) -> Iterator[None]:
    """Raises ConfigError for the text of ``what`` that is nested more deeply than Python goes."""
    try:
        yield
    except RecursionError:
        shown = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
        raise ConfigError(
            f"{what} {shown!r}",
            "is nested too deeply.",
            "Write it with fewer parentheses within each other.",
        ) from None
