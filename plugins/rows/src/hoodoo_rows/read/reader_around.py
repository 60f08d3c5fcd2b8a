"""A base of readers of base files that read through another reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from attrs import frozen
from hoodoo.hookspecs.file_format import BaseFileReader

Around = TypeVar("Around", bound="ReaderAround")


@frozen
class ReaderAround:
    """What a reader of a base file says of it, as the reader ``inner`` says it. A subclass adds
    ``schema`` and ``batches``, and what is true of its own columns of the optional members (keys,
    nulls): none of these are passed on."""

    inner: BaseFileReader

    @property
    def num_rows(self) -> int:
        """The number of rows of the inner reader."""
        return self.inner.num_rows

    @property
    def metadata(self) -> Mapping[str, str]:
        """The footer's key-value metadata, of the inner reader."""
        return self.inner.metadata

    @property
    def size(self) -> Callable[[], int]:
        """The inner reader's method that returns the bytes of the file. AttributeError where it
        has none, so ``hasattr`` answers of this reader what it answers of the inner one."""
        inner: Any = self.inner
        found: Callable[[], int] = inner.size
        return found

    def close(self) -> None:
        """Close the inner reader."""
        self.inner.close()

    def __enter__(self: Around) -> Around:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
