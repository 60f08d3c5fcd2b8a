"""Inspector: what ``hoodoo inspect`` shows of one kind of file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from attrs import Factory, frozen
from hoodoo.hookspecs.family import Family
from hoodoo.storage.api import Storage

# As many bytes of the beginning of a file an inspector sees at least, if the file has them.
HEAD = 64


@frozen
class Inspected:
    """What is in a file. ``kind``: such as ``log file``. ``facts``: names and values. ``parts``: a
    list of rows for each title, such as ``blocks``. ``details``: what is too long for a terminal,
    and only shown as JSON. All values are those of JSON."""

    kind: str
    facts: Mapping[str, Any] = Factory(dict)
    parts: Mapping[str, Sequence[Mapping[str, Any]]] = Factory(dict)
    details: Mapping[str, Any] = Factory(dict)


@runtime_checkable
class Inspector(Protocol):
    """Decodes one kind of file, and changes nothing."""

    def accepts(self, name: str, head: bytes) -> bool:
        """Whether a file of this name that begins with the bytes ``head`` is of its kind. Reads
        nothing."""

    def inspect(self, storage: Storage, path: str, rows: int) -> Inspected:
        """What is in the file ``path``, with at most ``rows`` of its rows.

        CorruptTableError, or another error of :mod:`hoodoo.errors`, for a file that can't be
        decoded."""


FAMILY = Family(
    "hoodoo_inspectors",
    """Offer decoders of files. When: ``hoodoo inspect`` runs. Default: those of hoodoo-cli,
    hoodoo-formats and hoodoo-metadata.

    The factory returns an :class:`Inspector`; its settings have the options of the command.""",
    (Inspector,),
)
