"""The hash of some fields of a record key, read out of the key string itself.

Source: ``KeyGenUtils.extractRecordKeysByFields`` of Hudi 1.2, which a bucket index calls on every
key. Its rules, vectorized:

* a key that lacks ``,`` or lacks ``:`` is one value, the whole key;
* otherwise it is ``field:value,field:value``. A field ends at the first ``:``; its value ends at
  the last ``,`` before the next ``:`` that comes after a ``,``. So values may hold commas and
  colons, and a value with a comma and, later, a colon is cut at that place, here as there;
* values of the wanted fields are taken in the order of the key; if there is none, the whole key is
  taken; ``__null__`` stands for null and ``__empty__`` for the empty string (both hash to 0).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo_rows.model.java_hash import Int32s, string_hash, units_hash

from hoodoo_standard.index.plain_keys import plain_fields

# One field and what follows it.
_FIELD = r"(?s)^(?P<name>[^:]*):(?P<value>[^,]*(?:,[^,:]*)*)(?:,(?P<rest>[^,:]*:.*))?$"


def fields_hash(keys: pa.StringArray, fields: Sequence[str]) -> Int32s:
    """``List.hashCode`` of the values of ``fields`` in each key; no fields: of all values."""
    hashes = np.zeros(len(keys), np.int32)
    left = np.ones(len(keys), np.bool_)
    plain = plain_fields(keys)
    if plain is not None:
        taken = [values for name, values in plain.fields if not fields or name in fields]
        if taken:
            made = np.ones(len(plain.rows), np.int32)
            for starts, lengths in taken:
                made = _add_to_list_hash(made, units_hash(plain.data, starts, lengths))
            hashes[plain.rows] = made
            left[plain.rows] = False
    rest = np.flatnonzero(left)
    if len(rest):
        hashes[rest] = _any(keys if len(rest) == len(keys) else keys.take(pa.array(rest)), fields)
    return hashes


def _any(keys: pa.StringArray, fields: Sequence[str]) -> Int32s:
    hashes = _add_to_list_hash(np.ones(len(keys), np.int32), string_hash(keys))
    composed = pc.and_(pc.match_substring(keys, ","), pc.match_substring(keys, ":"))
    rows = np.flatnonzero(np.asarray(composed))
    if len(rows):
        hashes[rows] = _composed(keys.take(pa.array(rows)), fields, hashes[rows])
    return hashes


def _composed(keys: pa.StringArray, fields: Sequence[str], whole: Int32s) -> Int32s:
    """As :func:`fields_hash` for keys that hold fields; ``whole`` is the answer where none fits."""
    hashes = np.ones(len(keys), np.int32)
    found = np.zeros(len(keys), np.bool_)
    rows = np.arange(len(keys))
    wanted = pa.array(list(fields), pa.string())
    # One round takes one field off every key: as many rounds as the longest key has fields.
    while len(rows):
        split = pc.extract_regex(keys, pattern=_FIELD)
        name, value, rest = (pc.struct_field(split, i) for i in range(3))
        taken = np.ones(len(rows), np.bool_)
        if len(wanted):
            taken = np.asarray(pc.is_in(name, value_set=wanted))
        marker = pc.is_in(value, value_set=pa.array(["__null__", "__empty__"]))
        hashes[rows] = _add_to_list_hash(
            hashes[rows], string_hash(pc.if_else(marker, "", value)), taken
        )
        found[rows] |= taken
        more = np.flatnonzero(np.asarray(pc.not_equal(rest, "")))
        rows, keys = rows[more], rest.take(pa.array(more))
    return np.where(found, hashes, whole)


def _add_to_list_hash(
    hashes: Int32s, values: Int32s, taken: npt.NDArray[np.bool_] | None = None
) -> Int32s:
    """``List.hashCode`` after one more element with hash ``values``; only where ``taken``."""
    grown = hashes.view(np.uint32) * np.uint32(31) + values.view(np.uint32)
    if taken is not None:
        grown = np.where(taken, grown, hashes.view(np.uint32))
    signed: Int32s = grown.view(np.int32)
    return signed
