"""Table versions: what differs between them, each version in one object.

The layout (:mod:`hoodoo.timeline.layouts`) decides the files of a timeline; versions share layouts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from attrs import frozen

_INITIAL = "hoodie.table.initial.version"
_LAYOUT = "hoodie.timeline.layout.version"
_PATHS = {"hoodie.timeline.path": "timeline", "hoodie.timeline.history.path": "history"}


@frozen
class TableVersion:
    """One version (format page 1.1).

    ``layout``: the number of its timeline layout; ``timeline_path``: the property that names the directory
    of the active timeline below ``.hoodie``, and its default; None where it is ``.hoodie`` itself.
    ``properties``: what each new table of the version says. ``ordering``: the property that names the
    ordering columns, one or, with ``orders_by_many``, several.

    ``generators_by_type``: a key generator that Hudi knows is stored as a type, else as a class;
    ``types_partitions``: partition columns are stored with the types of the custom key generator;
    ``has_one_key_form``: a key of one column of the generator COMPLEX is ``column:value``, whatever options
    say. ``payload_for_mode``: new tables store a payload class in place of the merge mode that it stands for;
    ``payload_is_merger``: a payload class decides how rows merge, though the table has a merge strategy.
    ``writes_metadata``: Hoodoo makes and keeps a metadata table; ``has_typed_ranges``: the bounds of column
    statistics there are stored with their type.
    """

    number: int
    layout: int
    timeline_path: tuple[str, str] | None
    properties: Mapping[str, str]
    ordering: str
    is_writable: bool
    orders_by_many: bool
    generators_by_type: bool
    types_partitions: bool
    has_one_key_form: bool
    payload_for_mode: bool
    payload_is_merger: bool
    writes_metadata: bool
    has_typed_ranges: bool


VERSIONS = {
    version.number: version
    for version in (
        TableVersion(
            number=6,
            layout=1,
            timeline_path=None,
            properties={_LAYOUT: "1"},
            ordering="hoodie.table.precombine.field",
            is_writable=True,
            orders_by_many=False,
            generators_by_type=False,
            types_partitions=False,
            has_one_key_form=False,
            payload_for_mode=True,
            payload_is_merger=True,
            writes_metadata=True,
            has_typed_ranges=False,
        ),
        TableVersion(  # an interim one of Hudi 1.0, whose writers disagree
            number=8,
            layout=2,
            timeline_path=("hoodie.timeline.path", "timeline"),
            properties={_LAYOUT: "2", _INITIAL: "8", **_PATHS},
            ordering="hoodie.table.precombine.field",
            is_writable=False,
            orders_by_many=False,
            generators_by_type=True,
            types_partitions=True,
            has_one_key_form=False,
            payload_for_mode=False,
            payload_is_merger=False,
            writes_metadata=False,
            has_typed_ranges=False,
        ),
        TableVersion(
            number=9,
            layout=2,
            timeline_path=("hoodie.timeline.path", "timeline"),
            properties={_LAYOUT: "2", _INITIAL: "9", **_PATHS, "hoodie.table.format": "native"},
            ordering="hoodie.table.ordering.fields",
            is_writable=True,
            orders_by_many=True,
            generators_by_type=True,
            types_partitions=True,
            has_one_key_form=True,
            payload_for_mode=False,
            payload_is_merger=True,
            writes_metadata=True,
            has_typed_ranges=True,
        ),
    )
}


@cache
def version_of(number: int) -> TableVersion:
    """What is known of the version ``number``; of one that is not known, what the one before it means: for
    messages, as such a table is neither read nor written."""
    before = [known for known in VERSIONS if known <= number]
    return VERSIONS[max(before, default=min(VERSIONS))]
