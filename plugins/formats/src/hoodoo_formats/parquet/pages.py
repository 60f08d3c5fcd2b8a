"""Reading single pages of a parquet file: by its page index, which says where each page of a column
lies and which rows it has.

The pages that have the rows asked for become a small file in memory, whose footer describes them as
that of the file does, and Arrow reads it. So a row costs as much as a page of each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

from hoodoo_formats.parquet import declared, footer, page_index
from hoodoo_formats.parquet.chunks import by_column
from hoodoo_formats.parquet.declared import PageHeader
from hoodoo_formats.parquet.footer import NoFooter, Struct
from hoodoo_formats.parquet.page_index import Rows

# A header is shorter: what is looked at to read it.
_HEADER_BYTES = 1 << 12
# What Arrow notes of its own types counts columns: files that have it are read whole.
_ARROW_SCHEMA = b"ARROW:schema"


@frozen
class Pages:
    """The pages of a column chunk: ``starts``, the first row of each, and ``ends``; ``places`` and
    ``sizes``, the bytes."""

    starts: Rows
    ends: Rows
    places: Rows
    sizes: Rows

    @classmethod
    def of(cls, file: pa.NativeFile, chunk: Struct, rows: int) -> Pages:
        """Raises NoFooter where the file does not say, or not what can be."""
        meta = footer.value(chunk, footer.CHUNK_META)
        found = page_index.places(file, chunk)
        if found is None or not len(found):
            raise NoFooter("it has no page index")
        places, sizes, starts = found.T
        ends = np.append(starts[1:], rows)
        begin = footer.value(meta, footer.DATA_PAGE)
        first = footer.value(meta, footer.DICTIONARY_PAGE) or begin
        whole = first + footer.value(meta, footer.BYTES)
        after = np.append(places[1:], whole)
        if starts[0] or (starts >= ends).any() or places[0] != begin:
            raise NoFooter("its page index has other rows than the file")
        if (places + sizes != after).any():
            raise NoFooter("the pages of its index do not lie side by side")
        return cls(starts, ends, places, sizes)

    def with_rows(self, at: Rows) -> Rows:
        """The numbers of the pages that have the rows ``at``."""
        return np.flatnonzero(np.diff(np.searchsorted(at, np.append(self.starts, self.ends[-1]))))


@frozen
class Picked:
    """Pages of a column chunk: their bytes, behind those of the dictionary."""

    name: str
    chunk: Struct
    dictionary: bytes
    pages: bytes

    def described(self, place: int, rows: int) -> Struct:
        """What a footer says of them where they lie at ``place``."""
        old = footer.value(self.chunk, footer.CHUNK_META)
        meta = {n: old[n] for n in (1, 2, footer.PATH, footer.CODEC, footer.RAW_BYTES)}
        meta[footer.VALUES] = footer.integer(rows)
        meta[footer.BYTES] = footer.integer(len(self.dictionary) + len(self.pages))
        meta[footer.DATA_PAGE] = footer.integer(place + len(self.dictionary))
        if self.dictionary:
            meta[footer.DICTIONARY_PAGE] = footer.integer(place)
        return {footer.CHUNK_PLACE: footer.integer(0), footer.CHUNK_META: footer.struct(meta)}


def rows_near(
    file: pa.NativeFile, tree: Struct, number: int, named: Mapping[str, pa.Array]
) -> Rows | None:
    """The numbers of the rows of row group ``number`` in pages that leave room for one of the
    values of each column of ``named`` (see :func:`page_index.with_room`); None where no page can be
    left out. Raises NoFooter for an index that can't be."""
    group = footer.value(tree, footer.GROUPS)[number]
    rows = footer.value(group, footer.GROUP_ROWS)
    found: Rows | None = None
    for name, chunk in _flat(group).items():
        values = named.get(name.decode("utf-8", "replace"))
        near = None if values is None else page_index.with_room(file, chunk, values)
        if near is None or near.all():
            continue
        pages = Pages.of(file, chunk, rows)
        if len(pages.starts) != len(near):
            raise NoFooter("its page index has places and ranges of different pages")
        spans = zip(pages.starts[near].tolist(), pages.ends[near].tolist(), strict=True)
        some = np.concatenate([np.zeros(0, np.int64), *(np.arange(*span) for span in spans)])
        found = some if found is None else np.intersect1d(found, some, assume_unique=True)
    return found


def _flat(group: Struct) -> dict[bytes, Struct]:
    """The chunks of a row group's columns that are not within others, by the columns' names."""
    flat: dict[bytes, Struct] = {}
    for chunk in footer.value(group, footer.CHUNKS):
        path = footer.value(footer.value(chunk, footer.CHUNK_META), footer.PATH)
        if len(path) == 1:
            flat[path[0]] = chunk
    return flat


def few_pages(
    file: pa.NativeFile, tree: Struct, number: int, at: Rows, names: Sequence[str], share: float
) -> list[tuple[bytes, Rows]] | None:
    """Files of the columns ``names``, which are flat ones, with the pages that have the rows ``at``
    of row group ``number``, and where these rows are in each. ``at`` ascends.

    None where the pages are more than ``share`` of the bytes. Raises NoFooter where the file can't
    be read so."""
    if any(footer.value(text, 1) == _ARROW_SCHEMA for text in footer.value(tree, footer.TEXTS, [])):
        raise NoFooter("Arrow noted its own types")
    elements = by_column(footer.value(tree, footer.SCHEMA, []))
    group = footer.value(tree, footer.GROUPS)[number]
    rows, flat = footer.value(group, footer.GROUP_ROWS), _flat(group)
    asked: list[tuple[str, Struct, Pages, Rows]] = []
    some = every = 0
    # The largest columns first: they tell soonest that it does not pay.
    for name in sorted(names, key=lambda name: -_bytes(flat[name.encode()])):
        chunk = flat[name.encode()]
        pages = Pages.of(file, chunk, rows)
        numbers = pages.with_rows(at)
        some, every = some + int(pages.sizes[numbers].sum()), every + int(pages.sizes.sum())
        if some > share * every:
            return None
        asked.append((name, chunk, pages, numbers))
    alike: dict[tuple[bytes, bytes], list[Picked]] = {}  # columns with pages of the same rows
    for name, chunk, pages, numbers in asked:
        spans = (pages.starts[numbers].tobytes(), pages.ends[numbers].tobytes())
        alike.setdefault(spans, []).append(_picked(file, name, chunk, pages, numbers))
    made = []
    for (starts, ends), columns in alike.items():
        first, counts = np.frombuffer(starts, np.int64), np.frombuffer(ends, np.int64)
        counts = counts - first
        before = np.cumsum(counts) - counts
        page = np.searchsorted(first, at, side="right") - 1
        content = _file(tree, [(c, elements[c.name]) for c in columns], int(counts.sum()))
        made.append((content, at - first[page] + before[page]))
    return made


def _bytes(chunk: Struct) -> int:
    found: int = footer.value(footer.value(chunk, footer.CHUNK_META), footer.BYTES)
    return found


def _picked(file: pa.NativeFile, name: str, chunk: Struct, pages: Pages, numbers: Rows) -> Picked:
    meta = footer.value(chunk, footer.CHUNK_META)
    begin = footer.value(meta, footer.DATA_PAGE)
    first = footer.value(meta, footer.DICTIONARY_PAGE) or begin
    dictionary = bytes(file.read_at(begin - first, first)) if first < begin else b""
    parts, run = [], np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 2) != 1)
    for some in np.split(numbers, run[1:]):  # pages that lie side by side
        place = int(pages.places[some[0]])
        size = int(pages.places[some[-1]] + pages.sizes[some[-1]]) - place
        content = bytes(file.read_at(size, place))
        if len(content) != size:
            raise NoFooter("it ends within a page")
        for n in some:
            at = int(pages.places[n]) - place
            _check_count(content[at : at + _HEADER_BYTES], int(pages.ends[n] - pages.starts[n]))
        parts.append(content)
    return Picked(name, chunk, dictionary, b"".join(parts))


def _check_count(content: bytes, rows: int) -> None:
    """NoFooter where a page does not have as many rows as the index says."""
    header = declared.read(PageHeader, content)
    if not any(one is not None and one.values == rows for one in (header.first, header.second)):
        raise NoFooter("a page has other rows than the page index says")


def _file(tree: Struct, columns: Sequence[tuple[Picked, list[Struct]]], rows: int) -> bytes:
    content, described = bytearray(footer.MAGIC), []
    for column, _ in columns:
        described.append(column.described(len(content), rows))
        content += column.dictionary + column.pages
    root = footer.value(tree, footer.SCHEMA)[0]
    root = root | {footer.CHILDREN: (root[footer.CHILDREN][0], len(columns))}
    group: dict[int, Any] = {
        footer.CHUNKS: footer.structs(described),
        footer.GROUP_RAW: footer.integer(len(content)),
        footer.GROUP_ROWS: footer.integer(rows),
    }
    whole: Struct = {
        footer.VERSION: tree[footer.VERSION],
        footer.SCHEMA: footer.structs([root, *(e for _, found in columns for e in found)]),
        footer.ROWS: footer.integer(rows),
        footer.GROUPS: footer.structs([group]),
        footer.CREATED_BY: tree[footer.CREATED_BY],
    }
    return bytes(content) + footer.serialized(whole)
