"""What of a record key is hashed: the values of some of its fields, one after the other.

Source: ``KeyGenUtils.extractRecordKeysByFields`` of Hudi 1.2, and how its consistent hashing joins
what that answers:

* a key that lacks ``,`` or lacks ``:`` is one value, the whole key;
* otherwise it is ``field:value,field:value``; a value ends at the last ``,`` before the next ``:``
  that comes after
  a ``,``. Values are taken in the order of the key; where no wanted field is among them, the whole
  key is;
* ``__null__`` counts as the text ``null``, ``__empty__`` as no text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# One field and what follows it.
_FIELD = r"(?s)^(?P<name>[^:]*):(?P<value>[^,]*(?:,[^,:]*)*)(?:,(?P<rest>[^,:]*:.*))?$"


def key_texts(keys: pa.StringArray, fields: Sequence[str]) -> pa.StringArray:
    """The text of each key that is hashed, by the values of ``fields``."""
    if isinstance(keys, pa.ChunkedArray):
        keys = keys.combine_chunks()
    if not len(keys):
        return keys
    composed = pc.and_(pc.match_substring(keys, ","), pc.match_substring(keys, ":"))
    if not pc.any(composed).as_py():
        return keys
    made = _joined(keys.filter(composed), pa.array(list(fields), pa.string()))
    return pc.replace_with_mask(keys, composed, made)


def _joined(keys: pa.StringArray, wanted: pa.StringArray) -> pa.StringArray:
    """Of keys that have fields."""
    whole, rest = keys, keys
    texts = pa.array(np.full(len(keys), ""), pa.string())
    found = pa.array(np.zeros(len(keys), np.bool_))
    # One round takes one field off every key: as many rounds as the longest key has fields.
    while True:
        split = pc.extract_regex(rest, pattern=_FIELD)
        name, value, rest = (pc.fill_null(pc.struct_field(split, i), "") for i in range(3))
        there = pc.is_valid(split)
        taken = pc.and_(there, pc.is_in(name, value_set=wanted))
        value = pc.if_else(pc.equal(value, "__null__"), "null", value)
        value = pc.if_else(pc.equal(value, "__empty__"), "", value)
        texts = pc.binary_join_element_wise(texts, pc.if_else(taken, value, ""), "")
        found = pc.or_(found, taken)
        if not pc.any(there).as_py() or pc.all(pc.equal(rest, "")).as_py():
            return pc.if_else(found, texts, whole)
