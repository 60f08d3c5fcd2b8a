"""Table versions: what differs between them, each version in one object.

The layout (:mod:`hoodoo.timeline.layouts`) decides the files of a timeline; versions share layouts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from attrs import frozen

from hoodoo.options.table import MERGE_MODE, MERGE_STRATEGY

_INITIAL = "hoodie.table.initial.version"
_LAYOUT = "hoodie.timeline.layout.version"
_PAYLOAD = "hoodie.compaction.payload.class"
_PATHS = {"hoodie.timeline.path": "timeline", "hoodie.timeline.history.path": "history"}


@frozen
class TableVersion:
    """One version.

    ``layout``: the number of its timeline layout; ``timeline_path``: the property that names the
    directory of the active timeline below ``.hoodie``, and its default; None where it is
    ``.hoodie`` itself. ``properties``: what each new table of the version says. ``ordering``: the
    property that names the ordering columns, one or, with ``orders_by_many``, several.

    ``generators_by_type``: a key generator that Hudi knows is stored as a type, else as a class;
    ``types_partitions``: partition columns are stored with the types of the custom key generator;
    ``has_one_key_form``: a key of one column of the generator COMPLEX is ``column:value``, whatever
    options say. ``merge_keys``: what says how rows merge, where Hudi has a payload class for it;
    ``payload_is_merger``: a payload class decides how rows merge, though the table has a merge
    strategy. ``has_second_indexes``: indexes that Hudi has in a second version are of that: bounds
    of column statistics have a type, and entries of secondary indexes are grouped by the value.
    """

    number: int
    layout: int
    timeline_path: tuple[str, str] | None
    properties: Mapping[str, str]
    ordering: str
    orders_by_many: bool
    generators_by_type: bool
    types_partitions: bool
    has_one_key_form: bool
    merge_keys: tuple[str, ...]
    payload_is_merger: bool
    has_second_indexes: bool


VERSIONS = {
    version.number: version
    for version in (
        TableVersion(
            number=6,
            layout=1,
            timeline_path=None,
            properties={_LAYOUT: "1"},
            ordering="hoodie.table.precombine.field",
            orders_by_many=False,
            generators_by_type=False,
            types_partitions=False,
            has_one_key_form=False,
            merge_keys=(_PAYLOAD,),
            payload_is_merger=True,
            has_second_indexes=False,
        ),
        TableVersion(
            number=8,
            layout=2,
            timeline_path=("hoodie.timeline.path", "timeline"),
            properties={_LAYOUT: "2", _INITIAL: "8", **_PATHS},
            ordering="hoodie.table.precombine.field",
            orders_by_many=False,
            generators_by_type=True,
            types_partitions=True,
            has_one_key_form=False,
            merge_keys=(MERGE_MODE.key, MERGE_STRATEGY.key, _PAYLOAD),
            payload_is_merger=False,
            has_second_indexes=False,
        ),
        TableVersion(
            number=9,
            layout=2,
            timeline_path=("hoodie.timeline.path", "timeline"),
            properties={_LAYOUT: "2", _INITIAL: "9", **_PATHS, "hoodie.table.format": "native"},
            ordering="hoodie.table.ordering.fields",
            orders_by_many=True,
            generators_by_type=True,
            types_partitions=True,
            has_one_key_form=True,
            merge_keys=(MERGE_MODE.key,),
            payload_is_merger=True,
            has_second_indexes=True,
        ),
    )
}


@cache
def version_of(number: int) -> TableVersion:
    """What is known of the version ``number``; of one that is not known, what the one before it
    means: for messages, as such a table is neither read nor written."""
    before = [known for known in VERSIONS if known <= number]
    return VERSIONS[max(before, default=min(VERSIONS))]
