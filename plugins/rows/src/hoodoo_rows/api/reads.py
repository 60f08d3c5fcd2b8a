"""Reads of a table, from the call to what tasks read."""

from __future__ import annotations

from hoodoo_rows import placement, reads
from hoodoo_rows.read import plan as plans
from hoodoo_rows.read import scan as scans
from hoodoo_rows.read import spec as specs
from hoodoo_rows.read import step as steps


class Reads:
    """Reads of a table. ``read`` and ``query`` are what its methods of these names do; the others
    are for who plans a read of a :class:`~hoodoo.hookspecs.read_source.ReadSource`, or changes the
    plan of one."""

    read = staticmethod(reads.read)
    query = staticmethod(reads.query)
    plan = staticmethod(plans.plan_scan)
    # The plan that merges log files by record keys, whatever rows of base files these name.
    by_keys = staticmethod(reads.by_keys)
    narrowed = staticmethod(plans.narrowed)
    row_counts = staticmethod(scans.row_counts)
    merge_rule = staticmethod(plans.merge_rule)
    spec = staticmethod(specs.row_spec)
    referenced = staticmethod(specs.referenced)
    # The column of slices on their way to tasks, and its values.
    PAYLOAD = steps.PAYLOAD
    payloads = staticmethod(steps.payloads)
    dealt = staticmethod(steps.dealt)
    # Whether each row lies where its columns say, and the property of a table that says so.
    rows_follow_columns = staticmethod(placement.rows_follow_columns)
    FOLLOWS = placement.FOLLOWS
