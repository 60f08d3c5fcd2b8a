"""Keys that are looked up among entries, without a loop over either."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hoodoo_metadata.hfile.entries import Entries
from hoodoo_metadata.hfile.key_heads import Keys, shared

# More places to compare in full than so many for each key are not looked at: keys differ too late.
_FALSE = 4


def found_entries(entries: Entries, keys: Keys) -> pa.RecordBatch:
    """The entries whose keys are among ``keys``, ascending."""
    if not entries.size:
        return entries.batch()
    first, last = entries.key(0), entries.key(entries.size - 1)
    start, stop = keys.between(first, last)
    if start == stop:
        return entries.batch().slice(0, 0)
    skipped = shared(first, last)
    wanted, known = keys.heads(start, stop, skipped), entries.heads(skipped)
    order = np.argsort(wanted)
    wanted = wanted[order]
    low, high = np.searchsorted(known, wanted, "left"), np.searchsorted(known, wanted, "right")
    counts = high - low
    total = int(counts.sum())
    if total > _FALSE * (stop - start) + 1024:
        batch = entries.batch()
        mask = pc.is_in(batch.column(0), value_set=keys.keys.slice(start, stop - start))
        return batch.filter(mask)
    ends = counts.cumsum()
    rows = np.repeat(low - (ends - counts), counts) + np.arange(total)
    asked = np.repeat(start + order, counts)
    # A key may be asked for at many rows, and a row for many keys; one pair at most is equal.
    ascending = np.argsort(rows, kind="stable")
    rows, asked = rows[ascending], asked[ascending]
    # A row that occurs twice makes offsets fall, in a stretch of the entry that nobody takes.
    found = entries.batch(rows)
    equal = pc.equal(found.column(0), keys.keys.take(pa.array(asked)))
    return found if pc.all(equal).as_py() else found.filter(equal)
