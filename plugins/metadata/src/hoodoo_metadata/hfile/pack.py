"""Entries become the plain bytes of data blocks. Arrow joins their parts; no loop over entries."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import DataError, SchemaError

from hoodoo_metadata.hfile.format import ENTRIES, ENTRY_BYTES, KEY_BYTES, SUFFIX

_HEAD = np.dtype([("key", ">u4"), ("value", ">u4"), ("content", ">u2")])


@frozen
class Packed:
    """Entries as they are in blocks: entry i is ``data[offsets[i]:offsets[i + 1]]``."""

    keys: pa.Array
    key_bytes: int
    value_bytes: int
    data: pa.Buffer
    offsets: npt.NDArray[np.int64]


def packed(batch: pa.RecordBatch, before: bytes | None) -> Packed:
    """The entries of ``batch``, of the schema ENTRIES, whose keys come after ``before``.

    Raises SchemaError for other columns, DataError for nulls, keys that don't ascend or that are
    too long."""
    if batch.schema.names != ENTRIES.names:
        raise SchemaError(
            f"entries with the columns {', '.join(batch.schema.names)}",
            "entries of an HFile have the columns key and value.",
            "Rename them.",
        )
    try:
        keys, values = (column.cast(pa.binary()) for column in batch.columns)
    except pa.ArrowException as error:
        raise SchemaError(
            "entries of an HFile", f"keys and values are bytes ({error}).", "Cast them."
        ) from error
    if keys.null_count or values.null_count:
        raise DataError("entries of an HFile", "a key or a value is null.", "Leave these out.")
    key_sizes = pc.binary_length(keys).to_numpy().astype(np.int64)
    value_sizes = pc.binary_length(values).to_numpy().astype(np.int64)
    if len(keys) and key_sizes.max() > KEY_BYTES:
        raise DataError(
            f"a key of {key_sizes.max()} bytes",
            f"a key has up to {KEY_BYTES} bytes.",
            "Shorten it.",
        )
    _check_order(keys, before)
    head = np.empty(len(keys), _HEAD)
    head["key"] = key_sizes + 2 + len(SUFFIX)
    head["value"], head["content"] = value_sizes, key_sizes
    heads = pa.Array.from_buffers(
        pa.binary(_HEAD.itemsize), len(keys), [None, pa.py_buffer(head)]
    ).cast(pa.large_binary())
    suffix, version, nothing = (pa.scalar(v, pa.large_binary()) for v in (SUFFIX, b"\0", b""))
    keys_, values_ = keys.cast(pa.large_binary()), values.cast(pa.large_binary())
    joined = pc.binary_join_element_wise(heads, keys_, suffix, values_, version, nothing)
    offsets = np.zeros(len(keys) + 1, np.int64)
    np.cumsum(key_sizes + value_sizes + ENTRY_BYTES, out=offsets[1:])
    sizes = int(key_sizes.sum()), int(value_sizes.sum())
    return Packed(keys, *sizes, joined.buffers()[2] or pa.py_buffer(b""), offsets)


def _check_order(keys: pa.Array, before: bytes | None) -> None:
    if not len(keys):
        return
    found = None
    if before is not None and keys[0].as_py() <= before:
        found = before, keys[0].as_py()
    elif len(keys) > 1:
        rises = pc.less(keys[:-1], keys[1:])
        if not pc.all(rises).as_py():
            at = pc.index(rises, False).as_py()
            found = keys[at].as_py(), keys[at + 1].as_py()
    if found is not None:
        raise DataError(
            f"key {found[1][:80]!r}",
            f"it follows key {found[0][:80]!r}; the keys of an HFile ascend, and none occurs "
            "twice.",
            "Sort the entries by the bytes of their keys, and make one of those that are equal.",
        )
