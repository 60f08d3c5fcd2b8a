"""Writer options of Hudi that say what a table property says already.

Source: Hudi's DataSourceOptions and HoodieWriteConfig, which turn them into properties at creation.
A value that differs from the table's is refused when the table is opened."""

from __future__ import annotations

_WRITE = "hoodie.datasource.write."
_LEGACY = "hoodie.table.legacy.payload.class"
_GENERATOR = "hoodie.table.keygenerator."

# Writer option -> table properties with the same meaning; the first that a table has counts.
WRITER_KEYS: dict[str, tuple[str, ...]] = {
    _WRITE + "recordkey.field": ("hoodie.table.recordkey.fields",),
    _WRITE + "partitionpath.field": ("hoodie.table.partition.fields",),
    _WRITE + "precombine.field": ("hoodie.table.ordering.fields", "hoodie.table.precombine.field"),
    "hoodie.table.ordering.fields": ("hoodie.table.precombine.field",),
    "hoodie.table.precombine.field": ("hoodie.table.ordering.fields",),
    "hoodie.recordkey.virtual.columns": ("hoodie.table.recordkey.fields",),
    "hoodie.recordkey.virtual.class": (_GENERATOR + "type", _GENERATOR + "class"),
    _WRITE + "table.name": ("hoodie.table.name",),
    _WRITE + "table.type": ("hoodie.table.type",),
    _WRITE + "keygenerator.class": (_GENERATOR + "class", _GENERATOR + "type"),
    _WRITE + "keygenerator.type": (_GENERATOR + "type", _GENERATOR + "class"),
    "hoodie.table.keygenerator.class": ("hoodie.table.keygenerator.type",),
    "hoodie.table.keygenerator.type": ("hoodie.table.keygenerator.class",),
    **dict.fromkeys(
        (_WRITE + "payload.class", "hoodie.compaction.payload.class", _LEGACY),
        (_LEGACY, "hoodie.compaction.payload.class", "hoodie.record.merge.mode"),
    ),
    _WRITE + "storage.type": ("hoodie.table.type",),
    # Properties under their own names; and what says nothing of a table.
    **dict.fromkeys(
        (
            "hoodie.table.recordkey.fields",
            "hoodie.table.partition.fields",
            "hoodie.table.name",
            "hoodie.table.type",
            "hoodie.table.version",
            _WRITE + "operation",
        ),
        (),
    ),
    "hoodie.write.record.merge.mode": ("hoodie.record.merge.mode",),
    "hoodie.write.record.merge.strategy.id": ("hoodie.record.merge.strategy.id",),
    "hoodie.write.table.version": ("hoodie.table.version",),
    "hoodie.base.file.format": ("hoodie.table.base.file.format",),
    **{
        f"hoodie.deltastreamer.keygen.timebased.{name}": (f"hoodie.keygen.timebased.{name}",)
        for name in [
            "timestamp.type",
            "timestamp.scalar.time.unit",
            "input.dateformat",
            "input.dateformat.list.delimiter.regex",
            "input.timezone",
            "output.dateformat",
            "output.timezone",
            "timezone",
        ]
    },
}
