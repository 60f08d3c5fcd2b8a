"""Hudi's options of a bootstrap, by their own names."""

from __future__ import annotations

from hoodoo.options import FLAG, Choice, Pattern, Whole
from hoodoo.options.option import Option
from hoodoo.options.table import BOOTSTRAP_BASE

METADATA_ONLY, FULL_RECORD = "METADATA_ONLY", "FULL_RECORD"
_PACKAGE = "org.apache.hudi.client.bootstrap."

BASE_PATH = Option(
    BOOTSTRAP_BASE,
    "The folder of Parquet files that a table was bootstrapped from. Said by hoodoo.bootstrap.",
    table_property=True,
)
INDEX_TYPE = Option(
    "hoodie.bootstrap.index.type",
    "How a bootstrapped table stores which file has the columns of which base file: HFILE, "
    "or NONE where no base file needs another one.",
    table_property=True,
    kind=Choice("HFILE", "NONE"),
)
SELECTOR = Option(
    "hoodie.bootstrap.mode.selector",
    "What becomes of the partitions of the source: all METADATA_ONLY, all FULL_RECORD, or by "
    "a pattern (BootstrapRegexModeSelector).",
    _PACKAGE + "selector.MetadataOnlyBootstrapModeSelector",
)
REGEX = Option(
    "hoodie.bootstrap.mode.selector.regex",
    "Partition paths that match it as a whole get the mode of "
    "hoodie.bootstrap.mode.selector.regex.mode, all others the other mode.",
    ".*",
    kind=Pattern(),
)
REGEX_MODE = Option(
    "hoodie.bootstrap.mode.selector.regex.mode",
    "METADATA_ONLY or FULL_RECORD, for partition paths that match the pattern.",
    METADATA_ONLY,
    kind=Choice(METADATA_ONLY, FULL_RECORD),
)
TRANSLATOR = Option(
    "hoodie.bootstrap.partitionpath.translator.class",
    "How the partition path follows from a folder of the source: the identity, which is the "
    "only one here.",
    _PACKAGE + "translator.IdentityBootstrapPartitionPathTranslator",
)
PARALLELISM = Option(
    "hoodie.bootstrap.parallelism",
    "At most so many tasks make the files of a bootstrap.",
    "1500",
    kind=Whole(1),
)
# Named so that a job's options may be used as they are.
INDEX_CLASS = Option(
    "hoodie.bootstrap.index.class",
    "The class of the index of tables before version 8; it is always that of HFiles.",
    table_property=True,
)
INDEX_ENABLE = Option(
    "hoodie.bootstrap.index.enable",
    "Whether the table has such an index. A table whose properties say false has base files "
    "that are whole.",
    table_property=True,
    kind=FLAG,
)
INPUT_PROVIDER = Option(
    "hoodie.bootstrap.full.input.provider",
    "Spark Hudi's reader of the source of a FULL_RECORD bootstrap. Without effect here.",
)
OF_TABLES = (BASE_PATH, INDEX_TYPE, INDEX_CLASS, INDEX_ENABLE)
OF_RUNS = (SELECTOR, REGEX, REGEX_MODE, TRANSLATOR, PARALLELISM, INPUT_PROVIDER)
