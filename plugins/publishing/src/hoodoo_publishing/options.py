"""The options of open formats."""

from __future__ import annotations

from hoodoo.hookspecs.registration import Option
from hoodoo.options import FLAG, NAMES, Duration

FORMATS = Option(
    "hoodoo.open.formats",
    "Formats whose metadata is written beside Hudi's after each commit: delta, iceberg; "
    "manifest: the list of its newest base files, which BigQuery reads.",
    table_property=True,
    assumed=False,
    kind=NAMES,
)
READ_OPTIMIZED = Option(
    "hoodoo.open.read.optimized",
    "Publish a merge-on-read table as its base files, without the rows of its log files.",
    "false",
    table_property=True,
    assumed=False,
    kind=FLAG,
)
CATALOGS = Option(
    "hoodoo.open.catalogs",
    "Catalogs that show the table as a published format and are updated after each commit: "
    "iceberg=glue://database.table, delta=hms://host:port/database.table, "
    "delta=unity://host/catalog.schema.table, manifest=bigquery://project.dataset.table, or "
    "iceberg=iceberg://name/namespace.table for a catalog of pyiceberg's configuration.",
    table_property=True,
    assumed=False,
    kind=NAMES,
)
WAIT = Option(
    "hoodoo.open.catalogs.wait",
    "How long an action waits for these catalogs at most; an update that takes longer goes on in "
    "the background.",
    "10",
    kind=Duration("s", whole=False),
)
ALL = (FORMATS, READ_OPTIMIZED, CATALOGS, WAIT)
