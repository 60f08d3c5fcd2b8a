"""Keys and paths that could be those of other rows, too: Hudi joins columns and quotes nothing.

Asked of rows on their way in, and of no others: what a table holds has the key that it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from hoodoo.errors import DataError
from hoodoo.model.config import DEFAULT_PARTITION
from hoodoo.options.table import URL_ENCODE

from hoodoo_standard.keygen.record_key import EMPTY, NULL, column


def refuse_keys(batch: pa.RecordBatch, fields: Sequence[str]) -> None:
    """DataError where a row's key ``f1:v1,f2:v2`` may be another row's, too: a text is the word
    that stands for null or for the empty text, or one of several holds a comma, the name of a key
    column and a colon.

    Beside values that are no texts a single text can be told apart, whatever it holds.
    """
    if len(fields) < 2:
        return
    texts = _texts(batch, fields)
    for field in texts:
        values = column(batch, field)
        words = pc.or_(pc.equal(values, NULL), pc.equal(values, EMPTY))
        if (value := _first(values, words)) is not None:
            stands = "null" if value == NULL else "the empty text"
            raise DataError(
                f"key column {field!r}",
                f"has the value {value!r}, which stands for {stands} in keys of several columns.",
                f"write {stands} where it is meant, or another word.",
            )
        if len(texts) < 2 or not pc.any(pc.match_substring(values, ",")).as_py():
            continue
        for other in fields:
            if (value := _first(values, pc.match_substring(values, f",{other}:"))) is not None:
                form = ",".join(f"{name}:..." for name in fields)
                raise DataError(
                    f"key column {field!r}",
                    f"has the value {value!r}, which holds {f',{other}:'!r}: keys are written "
                    f"{form}, and "
                    "another row could have the same one.",
                    "correct the column, or make one key column of all; or create the table with "
                    'key_generator="concatenated" and a hoodie.recordkey.virtual.concatenator that '
                    "no "
                    "value holds.",
                )


def refuse_default(batch: pa.RecordBatch, fields: Sequence[str]) -> None:
    """DataError where a value is the name of the directory that rows without one lie in."""
    for field in _texts(batch, fields):
        values = column(batch, field)
        if _first(values, pc.equal(values, DEFAULT_PARTITION)) is not None:
            raise DataError(
                f"partition column {field!r}",
                f"has the value {DEFAULT_PARTITION!r}, whose path is that of rows with null.",
                "write null where it is meant, or another word.",
            )


def refuse_slashes(batch: pa.RecordBatch, fields: Sequence[str], hive_style: bool) -> None:
    """DataError where a value of several unquoted text columns holds what stands between two of
    them.

    A path with one such column can be told apart: the other columns' values have no slashes.
    """
    texts = _texts(batch, fields)
    if len(texts) < 2:
        return
    marks = [f"/{field}=" for field in fields] if hive_style else ["/"]
    for field in texts:
        values = column(batch, field)
        found = reduce(pc.or_, (pc.match_substring(values, mark) for mark in marks))
        if (value := _first(values, found)) is not None:
            raise DataError(
                f"partition column {field!r}",
                f"has the value {value!r}, which holds what stands between the columns of a path: "
                "its rows "
                "could lie in the partition of others.",
                f"correct the column, or create the table with {URL_ENCODE.key}=true.",
            )


def _first(values: pa.Array, wrong: pa.BooleanArray) -> str | None:
    if not pc.any(wrong).as_py():
        return None
    found: str = values.filter(wrong)[0].as_py()
    return found


def _texts(batch: pa.RecordBatch, fields: Sequence[str]) -> list[str]:
    return [field for field in fields if pt.is_string(column(batch, field).type)]
