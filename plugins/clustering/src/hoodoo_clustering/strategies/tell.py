"""What the commit of a clustering says of the order of its rows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from hoodoo_clustering.hookspecs.clustering import ClusteredFile, ClusteredGroup

ORDER = "hoodoo.clustering.order"
RATIO = "hoodoo.clustering.ratio"
RANGES = "hoodoo.clustering.ranges"
# A commit is read by everyone who opens the table: it stays short.
_LONGEST, _LONGEST_TEXT = 4096, 32


def tell(name: str, columns: Sequence[str], groups: Sequence[ClusteredGroup]) -> Mapping[str, str]:
    """The order; bytes after for each byte before; and, as JSON, the range of each column in each
    new file or, where that is long, in all of them together."""
    files = [file for group in groups for file in group.files]
    before = sum(slice_.size for group in groups for slice_ in group.slices)
    after = sum(file.stat.file_size for file in files)
    told = {ORDER: f"{name}({', '.join(columns)})" if columns else name}
    if before:
        told[RATIO] = f"{after / before:.3f}"
    if columns and files:
        ranges = json.dumps({file.stat.path: _ranges(columns, [file]) for file in files})
        if len(ranges) > _LONGEST:
            ranges = json.dumps({"*": _ranges(columns, files)})
        told[RANGES] = ranges
    return told


def _ranges(columns: Sequence[str], files: Sequence[ClusteredFile]) -> dict[str, Any]:
    found = {}
    for name in columns:
        ends = [bounds for file in files if (bounds := file.bounds.get(name)) is not None]
        if ends:
            low, high = min(low for low, _ in ends), max(high for _, high in ends)
            found[name] = [_told(low), _told(high)]
    return found


def _told(value: Any) -> Any:
    if isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
