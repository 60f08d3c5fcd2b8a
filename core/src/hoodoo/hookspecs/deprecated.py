"""Deprecations: names that are other names now. All of them are here, as data.

An old name works until the version that it is said to go in; who uses it is warned once, with the
new one. ``docs/plugins/api.md`` lists them."""

from __future__ import annotations

from typing import Literal

from attrs import frozen


@frozen
class Deprecated:
    """``old`` is called ``new`` since the version ``since``, and is no more from ``until`` on.

    ``kind``: a ``hook``; a ``member`` of an object of ``family``; an ``option`` (which lists the
    old key among its ``aliases``); a ``method`` of :class:`hoodoo.Table`.
    """

    kind: Literal["hook", "member", "option", "method"]
    old: str
    new: str
    since: str
    until: str
    family: str = ""

    def __str__(self) -> str:
        of = f" of family {self.family}" if self.family else ""
        return f"{self.kind} {self.old!r}{of}"


DEPRECATED: tuple[Deprecated, ...] = ()
