"""Where the rows of keys lie, by an index and beside it."""

from __future__ import annotations

from hoodoo_rows.write import key_table, located


class KeyLookup:
    """Keys looked up in a table (:class:`~hoodoo_rows.write.target.WriteTarget`) by any index:
    ``locate`` asks it, ``living`` leaves keys out that have no row any more; ``different`` compares
    two answers. ``check_locations``, ``check_groups``: PluginError where an index answers what can
    not be."""

    locate = staticmethod(located.locate)
    context_of = staticmethod(located.context_of)
    bucket_of = staticmethod(located.bucket_of)
    different = staticmethod(located.different)
    keeps_gone = staticmethod(located.keeps_gone)
    unsure = staticmethod(located.unsure)
    living = staticmethod(located.living)
    check_locations = staticmethod(key_table.check_locations)
    check_groups = staticmethod(key_table.check_groups)
    LivingRows = located.LivingRows
