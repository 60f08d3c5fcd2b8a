"""HDFS: refused, with the reason."""

from __future__ import annotations

from typing import NoReturn

from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings
from hoodoo.options.table import STORAGE_URI


def refuse(settings: Settings) -> NoReturn:
    raise ConfigError(
        f"table {STORAGE_URI.read(settings.options)}",
        "lies on HDFS, whose client in pyarrow replaces a file where it should create it only if "
        "it is absent, so two "
        "writers would overwrite each other.",
        "Read it with Spark's own Hudi, keep the table on an object store or a shared disk, or "
        "reach HDFS as a mounted "
        "folder.",
    )
