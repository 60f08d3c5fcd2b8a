"""What the commit of a clustering says of the order of its rows: no value of a row, as a commit
stays on the timeline when the rows are erased."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hoodoo_clustering.hookspecs.clustering import ClusteredGroup

ORDER = "hoodoo.clustering.order"
RATIO = "hoodoo.clustering.ratio"


def tell(name: str, columns: Sequence[str], groups: Sequence[ClusteredGroup]) -> Mapping[str, str]:
    """The order, and bytes after for each byte before."""
    before = sum(slice_.size for group in groups for slice_ in group.slices)
    after = sum(file.stat.file_size for group in groups for file in group.files)
    told = {ORDER: f"{name}({', '.join(columns)})" if columns else name}
    return told | ({RATIO: f"{after / before:.3f}"} if before else {})
