"""Partition paths from columns, and column values from partition paths.

Source: ``KeyGenUtils.getRecordPartitionPath`` and ``PartitionPathEncodeUtils`` of Hudi 1.2. Work is
done on the distinct values of a column, so its cost is per distinct value and one ``take`` per row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from attrs import frozen
from hoodoo.errors import ConfigError, DataError
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.config import DEFAULT_PARTITION
from hoodoo.options.table import HIVE_STYLE

from hoodoo_standard.keygen.ambiguity import refuse_default, refuse_slashes
from hoodoo_standard.keygen.key_text import key_text
from hoodoo_standard.keygen.record_key import column, column_type
from hoodoo_standard.options import LOGICAL_TIMESTAMPS, SLASH_DATES

# `%` first: the escapes of the others contain it.
_ESCAPED = "%" + "".join(map(chr, range(1, 32))) + "\"#'*/:=?\\\x7f{[]^\x00"
_NEEDS_ESCAPE = r'[\x00-\x1f"#%\'*/:=?\\\x7f{\[\]^]'
# Segments that would leave the partition, be lost (Hudi's own names are passed over when files are
# listed), or land in the table's own directory; and what no file system takes.
_UNSAFE = r"(^|/)(\.{0,2}|\.hoodie[^/]*)(/|$)|\x00"
_ESCAPE_SEQUENCE = re.compile("%([0-9A-Fa-f]{2})")


def escape(values: pa.StringArray) -> pa.StringArray:
    """Hive's escaping of a path name: ``%XX``, upper case, of the characters that need it."""
    if not pc.any(pc.match_substring_regex(values, pattern=_NEEDS_ESCAPE)).as_py():
        return values
    for char in _ESCAPED:
        if char == "%" or pc.any(pc.match_substring(values, char)).as_py():
            values = pc.replace_substring(values, char, f"%{ord(char):02X}")
    return values


def unescape(value: str) -> str:
    """The inverse of :func:`escape`; what isn't ``%`` and two hex digits stays as it is."""
    return _ESCAPE_SEQUENCE.sub(lambda found: chr(int(found[1], 16)), value)


@frozen
class PartitionPaths:
    """How the partition columns of one table become directories.

    ``slash_dates``: of a single column, ``-`` becomes ``/``, so that a date is three directories.
    """

    fields: tuple[str, ...] = ()
    hive_style: bool = False
    url_encode: bool = False
    logical_timestamps: bool = False
    slash_dates: bool = False

    @classmethod
    def from_settings(
        cls, settings: Settings, fields: tuple[str, ...] | None = None
    ) -> PartitionPaths:
        """``fields``: those of the table's partition columns that are meant; all, if not said."""
        slashes = settings.value(SLASH_DATES)
        if slashes and len(settings.table.partition_fields) > 1:
            raise ConfigError(
                f"option {SLASH_DATES.key}",
                "is for tables with one partition column.",
                "leave it out, or partition by the date alone.",
            )
        return cls(
            settings.table.partition_fields if fields is None else fields,
            settings.table.hive_style,
            settings.table.url_encode,
            settings.value(LOGICAL_TIMESTAMPS),
            slashes,
        )

    @property
    def levels(self) -> int:
        """How many directories a path is, at least."""
        return len(self.fields)

    def paths(self, batch: pa.RecordBatch) -> pa.StringArray:
        """The partition path of each row. MissingColumnError; DataError for an unsafe path."""
        if not self.fields:
            return pa.repeat("", batch.num_rows)
        parts = [self._part(batch, field) for field in self.fields]
        if len(parts) == 1:
            return parts[0].dictionary.take(parts[0].indices)
        return pc.binary_join_element_wise(*(p.dictionary.take(p.indices) for p in parts), "/")

    def refuse_ambiguous(self, batch: pa.RecordBatch) -> None:
        """DataError where the path of a row could be another row's, which has other values."""
        refuse_default(batch, self.fields)
        if not self.url_encode:
            refuse_slashes(batch, self.fields, self.hive_style)

    def values(self, path: str, schema: pa.Schema) -> Mapping[str, Any] | None:
        """The certain column values of partition ``path``; None if the path has another shape.

        Certain are string, integer, boolean and date columns; the default partition is not (null
        and the empty string both map to it).
        """
        if not self.fields:
            return {}
        parts = [path] if len(self.fields) == 1 else path.split("/")
        if len(parts) != len(self.fields):
            return None
        found: dict[str, Any] = {}
        for field, part in zip(self.fields, parts, strict=True):
            text = part
            if self.hive_style:
                if not part.startswith(f"{field}="):
                    return None
                text = part[len(field) + 1 :]
            if text == DEFAULT_PARTITION:
                continue
            kind = column_type(schema, field)
            if self.slash_dates:  # of a text it isn't certain which slashes were dashes
                if kind is None or not pt.is_date32(kind):
                    continue
                text = text.replace("/", "-")
            value = _value(unescape(text) if self.url_encode else text, kind)
            if value is not None:
                found[field] = value
        return found

    def _part(self, batch: pa.RecordBatch, field: str) -> pa.DictionaryArray:
        """One directory level as a dictionary array without nulls."""
        text = key_text(column(batch, field), field, self.logical_timestamps)
        coded = pc.fill_null(text, "").dictionary_encode()
        values = coded.dictionary
        named = pc.if_else(pc.equal(values, ""), DEFAULT_PARTITION, values)
        named = self.named(field, named)
        if self.slash_dates:
            # A dash in front is refused below. Spark makes it `/2024/01/02`, whose files land in
            # the directory of `2024/01/02`: two partition paths, one place, and keys twice.
            named = pc.replace_substring(named, "-", "/")
            self._refuse_unsafe(field, named)
        return pa.DictionaryArray.from_arrays(coded.indices, named)

    def named(self, field: str, values: pa.StringArray) -> pa.StringArray:
        """Values, none of them null, as directories of ``field``. DataError where one is none."""
        named = escape(values) if self.url_encode else values
        if self.hive_style:
            named = pc.binary_join_element_wise(f"{field}=", named, "")
        self._refuse_unsafe(field, named)
        return named

    def _refuse_unsafe(self, field: str, named: pa.StringArray) -> None:
        bad = named.filter(pc.match_substring_regex(named, pattern=_UNSAFE))
        if len(bad):
            raise DataError(
                f"partition column {field!r}",
                f"has a value whose path {bad[0].as_py()!r} is not a directory below the table.",
                "create the table with hoodie.datasource.write.partitionpath.urlencode=true and "
                f"{HIVE_STYLE.key}=true, or clean the column.",
            )


def _value(text: str, kind: pa.DataType | None) -> Any:
    """``text`` as a Python value of a column of type ``kind``; None if that isn't certain."""
    if kind is None:
        return None
    if pt.is_string(kind) or pt.is_large_string(kind):
        return text
    if pt.is_integer(kind):
        return int(text) if re.fullmatch(r"-?\d+", text) else None
    if pt.is_boolean(kind):
        return {"true": True, "false": False}.get(text)
    if pt.is_date32(kind) and re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        try:
            return date.fromisoformat(text)
        except ValueError:
            return None
    return None
