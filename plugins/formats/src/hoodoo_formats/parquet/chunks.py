"""Parquet files put together of column chunks, which are copied as bytes from other files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from attrs import define, field, frozen
from thrift.Thrift import TType

from hoodoo_formats.parquet import footer, page_index
from hoodoo_formats.parquet.footer import NoFooter, Struct
from hoodoo_formats.parquet.page_index import ChunkIndex

# Bytes that are held while they are copied.
_PIECE = 8 << 20
# The order of values that all writers have named so far.
_TYPE_ORDER = 1
_LARGEST_ORDINAL = (1 << 15) - 1
# What the schema says of lists, and of fields that may come more than once.
_REPEATED = 2
# Writers whose chunks mean what they say, whoever is named as the writer of the file they are in:
# readers mend what older ones wrote (statistics of texts, delta encodings) by that name.
_WRITERS = re.compile(r"parquet-cpp-arrow version [1-9]\d|parquet-mr version 1\.(1\d|[2-9]\d)\.")


def is_known(writer: str) -> bool:
    """Whether chunks may be copied from files of this program."""
    return _WRITERS.match(writer) is not None


@frozen
class Chunk:
    """A column chunk where it lies: ``file`` has it at ``start``, ``size`` bytes long. ``outer``:
    what the footer says of it beside ``meta``, such as where its page index is."""

    file: pa.NativeFile
    meta: Struct
    start: int
    size: int
    outer: Struct = field(factory=dict)


@frozen
class Group:
    """A row group: its chunks by top-level column, those of its leaves in order."""

    rows: int
    raw_bytes: int
    chunks: dict[str, list[Chunk]]


@frozen
class Layout:
    """A file as its footer describes it. ``elements``: what the schema says of each top-level
    column."""

    elements: dict[str, list[Struct]]
    groups: list[Group]
    tree: Struct

    def without_texts(self) -> Struct:
        """The footer without its key-value metadata."""
        return {n: v for n, v in self.tree.items() if n != footer.TEXTS}

    @staticmethod
    def of(file: pa.NativeFile, content: bytes | None = None) -> Layout:
        """Raises NoFooter for a file whose chunks can't be copied. ``content``: of its footer, if
        that has been read, maybe without a text."""
        tree, end = footer.read(file, content)
        try:
            return Layout.of_tree(tree, file, end)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise NoFooter(f"its fields are not those of a footer ({error})") from error

    @staticmethod
    def of_tree(tree: Struct, file: pa.NativeFile, end: int) -> Layout:
        writer = footer.value(tree, footer.CREATED_BY, b"").decode("utf-8", "replace")
        if not is_known(writer):
            raise NoFooter(f"its writer is unknown ({writer})")
        if footer.ENCRYPTION in tree or footer.ORDERS not in tree:
            raise NoFooter("it is encrypted, or has no order of values")
        if any(
            order != {_TYPE_ORDER: (TType.STRUCT, {})}
            for order in footer.value(tree, footer.ORDERS)
        ):
            raise NoFooter("its statistics are in another order than those written here")
        elements = by_column(footer.value(tree, footer.SCHEMA, []))
        leaves = {name: sum(_is_leaf(e) for e in found) for name, found in elements.items()}
        flat = frozenset(name for name, found in elements.items() if not any(map(_repeats, found)))
        groups = [_group(g, leaves, flat, file, end) for g in footer.value(tree, footer.GROUPS, [])]
        if sum(group.rows for group in groups) != footer.value(tree, footer.ROWS):
            raise NoFooter("its row groups have other rows than it says")
        return Layout(elements, groups, tree)


def _is_leaf(element: Struct) -> bool:
    return not footer.value(element, footer.CHILDREN, 0)


def _repeats(element: Struct) -> bool:
    return bool(footer.value(element, footer.REPETITION) == _REPEATED)


def by_column(schema: Sequence[Struct]) -> dict[str, list[Struct]]:
    """The elements of each top-level column, without the numbers that writers may give to
    columns."""
    if not schema:
        raise NoFooter("it has no schema")
    found: dict[str, list[Struct]] = {}
    rest = iter(schema[1:])
    for _ in range(footer.value(schema[0], footer.CHILDREN, 0)):
        column: list[Struct] = []
        left = 1
        while left:
            element = next(rest, None)
            if element is None:
                raise NoFooter("its schema is cut off")
            left += footer.value(element, footer.CHILDREN, 0) - 1
            column.append({n: v for n, v in element.items() if n != footer.FIELD_ID})
        name = footer.value(column[0], footer.NAME, b"").decode("utf-8", "replace")
        if name in found:
            raise NoFooter(f"it has two columns {name}")
        found[name] = column
    return found


def _group(
    group: Struct, leaves: dict[str, int], flat: frozenset[str], file: pa.NativeFile, end: int
) -> Group:
    chunks = footer.value(group, footer.CHUNKS, [])
    if len(chunks) != sum(leaves.values()):
        raise NoFooter("a row group lacks columns")
    rest = iter(chunks)
    found = {
        name: [_chunk(next(rest), file, end) for _ in range(count)]
        for name, count in leaves.items()
    }
    rows, size = footer.value(group, footer.GROUP_ROWS), footer.value(group, footer.GROUP_RAW)
    if not isinstance(rows, int) or not isinstance(size, int):
        raise NoFooter("a row group does not say its size")
    if any(footer.value(c.meta, footer.VALUES) != rows for name in flat for c in found[name]):
        raise NoFooter("a column has other rows than its row group")  # reading it tells more
    for name, parts in found.items():
        for part in parts:
            path = [one.decode() for one in footer.value(part.meta, footer.PATH)]
            if path[0] != name:
                raise NoFooter("a column is called otherwise in its row group")
    return Group(rows, size, found)


def _chunk(chunk: Struct, file: pa.NativeFile, end: int) -> Chunk:
    meta = footer.value(chunk, footer.CHUNK_META)
    if footer.FOREIGN_FILE in chunk or footer.CRYPTO & chunk.keys() or meta is None:
        raise NoFooter("a column lies in another file, or is encrypted")
    if not meta.keys() <= footer.KNOWN_META:
        raise NoFooter("a column has an entry that is not known here")
    places = [footer.value(meta, n, 0) for n in (footer.DICTIONARY_PAGE, footer.INDEX_PAGE)]
    places.append(footer.value(meta, footer.DATA_PAGE, 0))
    start = min((n for n in places if n > 0), default=0)
    size = footer.value(meta, footer.BYTES, 0)
    if start < len(footer.MAGIC) or size <= 0 or start + size > end:
        raise NoFooter("a column lies outside of the file")
    return Chunk(file, meta, start, size, chunk)


@define
class Assembly:
    """A parquet file that is written chunk by chunk. ``template``: a file of the same columns,
    without rows."""

    sink: pa.NativeFile
    template: Layout
    rows: int = 0
    _groups: list[Struct] = field(factory=list)
    # What describes a chunk, and its page index: they stand before the footer.
    _indexed: list[tuple[Struct, ChunkIndex]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.sink.write(footer.MAGIC)

    def add(self, rows: int, columns: dict[str, list[Chunk]]) -> None:
        """A row group; ``columns`` in any order."""
        chunks = [chunk for name in self.template.elements for chunk in columns[name]]
        start = self.sink.tell()
        placed = list(self._copied(chunks))
        described = [_moved(chunk, place) for chunk, place in placed]
        for (chunk, place), one in zip(placed, described, strict=True):
            index = page_index.of_chunk(chunk.file, chunk.outer, place - chunk.start)
            if index is not None:
                self._indexed.append((one, index))
        group: Struct = {
            footer.CHUNKS: footer.structs(described),
            footer.GROUP_RAW: footer.integer(
                sum(footer.value(chunk.meta, footer.RAW_BYTES) for chunk in chunks)
            ),
            footer.GROUP_ROWS: footer.integer(rows),
            footer.GROUP_START: footer.integer(start),
            footer.GROUP_BYTES: footer.integer(sum(chunk.size for chunk in chunks)),
        }
        if len(self._groups) <= _LARGEST_ORDINAL:
            group[footer.ORDINAL] = footer.short(len(self._groups))
        self._groups.append(group)
        self.rows += rows

    def _copied(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, int]]:
        """Each chunk with its new place; those that lie side by side are copied in one go."""
        run: list[Chunk] = []
        at = self.sink.tell()
        for chunk in chunks:
            if run and (run[-1].file is not chunk.file or _end(run[-1]) != chunk.start):
                self._copy(run)
                run = []
            run.append(chunk)
            yield chunk, at
            at += chunk.size
        if run:
            self._copy(run)

    def _copy(self, run: Sequence[Chunk]) -> None:
        file, left = run[0].file, _end(run[-1]) - run[0].start
        file.seek(run[0].start)
        while left:
            piece = file.read_buffer(min(_PIECE, left))  # of a file in memory not copied
            if not piece.size:
                raise OSError("the file that is replaced ends within a column")
            self.sink.write(piece)
            left -= piece.size

    def close(self, texts: dict[str, str | bytes]) -> None:
        """The page indexes, where all chunks have one, and the footer with the texts."""
        # Readers are there that take a file of which some chunks have one for a damaged file.
        if len(self._indexed) == sum(len(footer.value(g, footer.CHUNKS)) for g in self._groups):
            page_index.write(self.sink, self._indexed)
        tree = self.template.tree | {
            footer.ROWS: footer.integer(self.rows),
            footer.GROUPS: footer.structs(self._groups),
            footer.TEXTS: footer.texts(texts),
        }
        self.sink.write(footer.serialized(tree))


def _end(chunk: Chunk) -> int:
    return chunk.start + chunk.size


def _moved(chunk: Chunk, start: int) -> Struct:
    """What the footer says of a chunk that begins at ``start`` now. Parquet's own bloom filters lie
    elsewhere in the old file, and are left out, as nobody else writes them here."""
    meta = {n: v for n, v in chunk.meta.items() if n not in footer.PARQUET_BLOOM}
    for place in (footer.DATA_PAGE, footer.INDEX_PAGE, footer.DICTIONARY_PAGE):
        if footer.value(meta, place, 0) > 0:
            meta[place] = footer.integer(footer.value(meta, place) + start - chunk.start)
    return {footer.CHUNK_PLACE: footer.integer(0), footer.CHUNK_META: footer.struct(meta)}
