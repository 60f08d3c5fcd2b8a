"""A numbered batch of a stream, which takes effect once."""

from __future__ import annotations

from attrs import frozen

from hoodoo.errors import ConfigError


@frozen
class Batch:
    """Batch ``number`` of the stream ``identifier``; numbers of a stream only grow.

    ``query`` tells streams of one identifier apart whose numbers begin again (Spark: the id of a query,
    which lives in its checkpoint); empty where there is no such thing. Raises ConfigError without an
    identifier, or for a number below 0.
    """

    identifier: str
    number: int
    query: str = ""

    def __attrs_post_init__(self) -> None:
        if not self.identifier or self.number < 0:
            raise ConfigError(
                f"batch {self.number} of stream {self.identifier!r}",
                "has no identifier, or a number below 0",
                "give each stream its own name, and count its batches from 0.",
            )
