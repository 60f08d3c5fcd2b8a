"""Structures of which each read of few rows needs some fields: they are declared to `thrift`, whose
compiled decoder reads them in a tenth of the time of a tree. Where it is not compiled it reads the
same, more slowly. Numbers of fields are those of ``parquet.thrift``; others are passed over."""

from __future__ import annotations

from typing import Any, TypeVar

from thrift.protocol.TBase import TBase
from thrift.protocol.TCompactProtocol import TCompactProtocolAccelerated
from thrift.Thrift import TException, TType
from thrift.transport.TTransport import TMemoryBuffer

from hoodoo_formats.parquet.footer import NoFooter

# What the compiled decoder raises, and the other one.
_BROKEN = (
    TException,
    EOFError,
    TypeError,
    ValueError,
    LookupError,
    ArithmeticError,
    AssertionError,
)


class _Declared(TBase):  # type: ignore[misc]
    __slots__: tuple[str, ...] = ()

    def __init__(self) -> None:
        for name in self.__slots__:
            setattr(self, name, None)


Kind = TypeVar("Kind", bound=_Declared)


class Counted(_Declared):
    """DataPageHeader, or that of the second version: how many values it has."""

    __slots__ = ("values",)
    thrift_spec = (None, (1, TType.I32, "values", None, None))
    values: int | None


class PageHeader(_Declared):
    """What each kind of data page says; None for other kinds."""

    __slots__ = ("first", "second")
    _kind = [Counted, Counted.thrift_spec]
    thrift_spec = (
        *[None] * 5,
        (5, TType.STRUCT, "first", _kind, None),
        *[None] * 2,
        (8, TType.STRUCT, "second", _kind, None),
    )
    first: Counted | None
    second: Counted | None


class ColumnIndex(_Declared):
    """Of each page whether it has nulls alone, its least and its greatest value."""

    __slots__ = ("empty", "least", "most")
    _texts = (TType.STRING, "BINARY", False)
    thrift_spec = (
        None,
        (1, TType.LIST, "empty", (TType.BOOL, None, False), None),
        (2, TType.LIST, "least", _texts, None),
        (3, TType.LIST, "most", _texts, None),
    )
    empty: list[bool] | None
    least: list[bytes] | None
    most: list[bytes] | None


def read(kind: type[Kind], content: bytes) -> Kind:
    """The structure that ``content`` begins with. Raises NoFooter."""
    found: Any = kind()
    most = len(content)  # of a text and of a list: what says more makes no room for it
    try:
        found.read(TCompactProtocolAccelerated(TMemoryBuffer(content), most, most))
    except _BROKEN as error:
        raise NoFooter(str(error)) from error
    return found
