"""Row groups: which of them a filter leaves, by the statistics of the footer alone."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import reduce
from itertools import combinations
from operator import and_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from attrs import frozen
from hoodoo_rows.api import StoredFiles
from hoodoo_rows.model.filter_text import text_of

_NAN = float("nan")
# As Arrow prints a question for null of a column with a plain name.
_IS_NULL = re.compile(r"is_null\((\w+)(?:, \{nan_is_null=false\})?\)")
# Each column of floats makes it twice as long to find out which row groups can match.
_MOST_FLOATS = 4
# What tells no zero of floating point numbers from the other one, beside comparisons.
_CALLED = re.compile(r"\b(\w+)\(")
_BLIND_TO_SIGNS = frozenset({"is_null", "is_valid", "is_nan", "invert", "and", "or"})


def _float_paths(path: tuple[str, ...], kind: pa.DataType) -> Iterator[tuple[str, ...]]:
    if pa.types.is_struct(kind):
        for field in kind:
            yield from _float_paths((*path, field.name), field.type)
    elif pa.types.is_floating(kind):
        yield path


def _bytes(value: pa.StringScalar) -> bytes:
    return bytes(value.as_buffer())


def _plain(value: pa.Scalar) -> Any:
    return value.as_py()


def _is_listed(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_integer(kind)


_BROKEN = (pa.ArrowException, OSError, UnicodeDecodeError)


@frozen
class RowGroups:
    """The row groups of an open file. ``parquet``: its footer; ``file``: its bytes; ``schema``: its
    columns in plain types."""

    parquet: pq.ParquetFile
    file: Any
    schema: pa.Schema

    def left(self, where: pc.Expression | None) -> list[int]:
        """The row groups that may have a row for which ``where`` is true; all of them for None."""
        every = list(range(self.parquet.metadata.num_row_groups))
        if where is None or not every:
            return every
        if (nulls := self._groups_with_null(text_of(where))) is not None:
            return nulls
        floats = self._floats(where)
        if len(floats) > _MOST_FLOATS:
            return every
        try:
            # Statistics leave NaN out: a row group has rows of the result where they let the filter
            # be true, or where it is true of NaN.
            left: set[int] = set()
            for number in range(len(floats) + 1):
                for some in combinations(floats, number):
                    left |= self._groups_left(where, [pc.field(*path) == _NAN for path in some])
            if floats and not _BLIND_TO_SIGNS.issuperset(_CALLED.findall(text_of(where))):
                left |= self._groups_of_zeros({".".join(path) for path in floats})
            return sorted(left & self._near_named(where))
        except (*_BROKEN, TypeError):
            return every  # what can't be compared prunes nothing; reading will tell if it is broken

    def near(self, column: str, values: pa.Array | pa.ChunkedArray) -> list[int]:
        """The row groups whose statistics leave room for one of ``values``, which ascend."""
        metadata = self.parquet.metadata
        paths = [metadata.schema.column(j).path for j in range(metadata.num_columns)]
        if column not in paths:
            return list(range(metadata.num_row_groups))
        place, near, text = paths.index(column), [], pa.types.is_string(values.type)
        for i in range(metadata.num_row_groups):
            known = metadata.row_group(i).column(place).statistics
            if known is None or not known.has_min_max:
                near.append(i)
                continue
            # Texts as bytes, because writers may cut long values short, in the middle of a
            # character.
            least, most = (known.min_raw, known.max_raw) if text else (known.min, known.max)
            value = _bytes if text else _plain
            if isinstance(least, bytes if text else int):
                first = bisect_left(values, least, key=value)
                if first == len(values) or value(values[first]) > most:
                    continue
            near.append(i)
        return near

    def _near_named(self, where: pc.Expression) -> set[int]:
        """The row groups that have room for a value of each list that ``where`` names. Arrow leaves
        none out for a list of more than 50."""
        near = set(range(self.parquet.metadata.num_row_groups))
        if "is_in(" in text_of(where):
            for name, values in self.named(where, self.schema.names).items():
                near.intersection_update(self.near(name, values))
        return near

    def named(self, where: pc.Expression, columns: Iterable[str]) -> dict[str, pa.Array]:
        """Of ``columns`` those of text and of integers of which ``where`` names all values that it
        lets through; these values, which ascend."""
        text, found = text_of(where), {}
        for name in columns:
            if name in text and _is_listed(self.schema.field(name).type):
                values = StoredFiles.named_values(where, self.schema, name)
                if values is not None:
                    found[name] = values
        return found

    def _groups_with_null(self, where: str) -> list[int] | None:
        """The row groups that may have a null where the filter asks for nothing else, of one column
        or any of several: every read of a table with virtual keys asks. Counts of the footer, which
        has been read; None: another filter."""
        names = {match[1] for match in _IS_NULL.finditer(where)}
        if not names or _IS_NULL.sub("", where).replace(" or ", "").strip("()"):
            return None
        metadata = self.parquet.metadata
        first = metadata.row_group(0)
        at = [n for n in range(first.num_columns) if first.column(n).path_in_schema in names]
        if len(at) != len(names):
            return None  # nested, or not there
        counted = [
            [metadata.row_group(number).column(n).statistics for n in at]
            for number in range(metadata.num_row_groups)
        ]
        return [
            number
            for number, found in enumerate(counted)
            if any(s is None or not s.has_null_count or s.null_count for s in found)
        ]

    def _groups_of_zeros(self, columns: Collection[str]) -> set[int]:
        """The row groups that have no number but zero in one of ``columns``. Statistics of Parquet
        are then from -0.0 to 0.0, whichever of the two there is, and Arrow takes such a column for
        one of -0.0 alone."""
        metadata = self.parquet.metadata
        first = metadata.row_group(0)
        at = [n for n in range(first.num_columns) if first.column(n).path_in_schema in columns]
        return {
            number
            for number in range(metadata.num_row_groups)
            for n in at
            if (s := metadata.row_group(number).column(n).statistics) is not None
            and s.has_min_max
            and s.min == s.max == 0.0
        }

    def _groups_left(self, where: pc.Expression, promised: Sequence[pc.Expression]) -> set[int]:
        """The row groups that can have rows of which both ``where`` and all of ``promised`` are
        true."""
        # Imports pandas where there is one: only who has a filter pays.
        import pyarrow.dataset as ds

        promise = reduce(and_, promised, pc.scalar(True))
        fragment = ds.ParquetFileFormat().make_fragment(self.file, partition_expression=promise)
        schema = self.parquet.schema_arrow.remove_metadata()
        while True:
            try:
                return {g.id for g in fragment.subset(where, schema=schema).row_groups}
            except pa.ArrowInvalid as error:
                missing = re.search(r"No match for FieldRef\.Name\(([^)]*)\)", str(error))
                if missing is None or missing[1] in schema.names:
                    return set(range(self.parquet.metadata.num_row_groups))
                # A column added later: of unknown value here, so that it prunes nothing while
                # the rest of the expression still can.
                schema = schema.append(pa.field(missing[1], pa.null()))

    def _floats(self, where: pc.Expression) -> list[tuple[str, ...]]:
        """The columns of floating point numbers, and fields of structs, that ``where`` may read."""
        text = text_of(where)
        found = [path for field in self.schema for path in _float_paths((field.name,), field.type)]
        return [p for p in found if all(re.search(rf"\b{re.escape(n)}\b", text) for n in p)]
