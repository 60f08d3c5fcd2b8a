"""Options of virtual keys: RFC-21's, the one that shipped, and Hoodoo's own."""

from __future__ import annotations

from hoodoo.options.kinds import COLUMNS, FLAG, Names, PluginName, Text
from hoodoo.options.option import Option

# The meta columns (hoodoo.model.meta, a room below this one).
_META = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
POPULATE = Option(
    "hoodie.populate.meta.fields",
    "false: record keys are virtual, and rows don't store their meta columns.",
    "true",
    table_property=True,
    kind=FLAG,
)
VIRTUAL = Option(
    "hoodie.recordkey.virtual.enabled",
    "Record keys are virtual (RFC-21): they are not stored, but computed from their columns.",
    "false",
    table_property=True,
    kind=FLAG,
)
KEY_COLUMNS = Option(
    "hoodie.recordkey.virtual.columns",
    "The columns of a virtual key; the same as record_key.",
    kind=COLUMNS,
)
GENERATOR = Option(
    "hoodie.recordkey.virtual.class",
    "The key generator of a virtual key; the same as key_generator.",
    kind=PluginName("key_generator"),
)
CONCATENATOR = Option(
    "hoodie.recordkey.virtual.concatenator",
    "What separates the columns of a virtual key.",
    table_property=True,
    kind=Text(empty=False),
)
KEPT_META = Option(
    "hoodoo.meta.fields.kept",
    "The meta columns that rows store although record keys are virtual; by default "
    "_hoodie_commit_time, if hoodie.recordkey.virtual.enabled made the keys virtual.",
    table_property=True,
    kind=Names("columns", of=_META),
)

VIRTUAL_OPTIONS: tuple[Option, ...] = (
    POPULATE,
    VIRTUAL,
    KEY_COLUMNS,
    GENERATOR,
    CONCATENATOR,
    KEPT_META,
)
