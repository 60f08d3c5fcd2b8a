"""A numbered batch of a stream, which takes effect once."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from hoodoo.errors import ConfigError


def _whole(number: Any) -> Any:  # numpy's, too
    return operator.index(number) if hasattr(number, "__index__") else number


@frozen
class Batch:
    """Batch ``number`` of the stream ``identifier``; numbers of a stream only grow. ``query`` tells
    streams of one identifier apart whose numbers begin again (Spark: the id of a query, in its
    checkpoint). ``notes`` go into the commit's extra metadata. Raises ConfigError without an
    identifier, or for a number that is not whole, or below 0."""

    identifier: str
    number: int = field(converter=_whole)
    query: str = ""
    notes: Mapping[str, str] = field(factory=dict, eq=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        named = isinstance(self.identifier, str) and self.identifier and isinstance(self.query, str)
        if not named or type(self.number) is not int or self.number < 0:
            raise ConfigError(
                f"batch {self.number!r} of stream {self.identifier!r}",
                "has no text as its identifier and query, or no whole number from 0 on",
                "give each stream its own name, and count its batches from 0.",
            )
