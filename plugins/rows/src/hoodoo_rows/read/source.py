"""Whether a table can be read at all, and why not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from hoodoo.errors import UnsupportedTableError
from hoodoo.hookspecs import MEMBERS, install
from hoodoo.hookspecs.file_format import BaseFileFormat, is_plain_parquet
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage

from hoodoo_rows.merge.rule import as_of_schema

# The instant of Hudi's bootstrap METADATA_ONLY, whose base files have the meta columns of rows that
# lie elsewhere.
SKELETONS = "00000000000001"


def stored_format(source: ReadSource) -> BaseFileFormat:
    """The format of the base files. UnsupportedTableError for tables that can't be read at all."""
    config = source.config
    refuse_dropped(config)
    if source.file_format is None:
        raise no_format(f"table {config.name}", config.base_file_format)
    return source.file_format


def refuse_dropped(config: TableConfig) -> None:
    """UnsupportedTableError for a table whose files lack columns that its rows have. An upsert
    would store null in them."""
    if config.drop_partition_columns:
        # The values would have to be guessed from directory names, which lose types and nulls.
        raise UnsupportedTableError(
            f"table {config.name}",
            "its files lack the partition columns "
            "(hoodie.datasource.write.drop.partition.columns=true), and such tables can't be read "
            "or written",
            "let its writer write the rows into a new table with this property set to false.",
        )


def check_readable(source: ReadSource, bound: str | None = None) -> BaseFileFormat:
    """The same, which reads files of any age with the columns that the table has at ``bound``."""
    newest = source.timeline.latest_schema(source.storage, bound)
    return as_of_schema(stored_format(source), source.storage, newest)


def check_generator(source: ReadSource) -> KeyGenerator:
    """What makes virtual keys. UnsupportedTableError where no plugin offers it."""
    if source.key_generator is None:
        raise UnsupportedTableError(
            f"table {source.config.name}",
            f"its keys are virtual, and no installed plugin offers {source.config.key_generator}",
            'install such a plugin, or read with mode="read_optimized" (without the log files).',
        )
    return source.key_generator


def check_extension(slice_: FileSlice, file_format: BaseFileFormat) -> None:
    """UnsupportedTableError where the base file is of another format, or has no columns of the
    table."""
    base = slice_.base_file
    if base is not None and base.extension.lower() != file_format.extension.lower():
        name = base.extension.lstrip(".").upper()
        if not base.write_token and not base.extension.startswith("."):
            raise UnsupportedTableError(
                f"base file {base.path}",
                "is a file of another program that lies in folders of its partition, such as the "
                "buckets of Paimon, or whose name does not say its format.",
                "Read the table in its own format, with the program that wrote its files.",
            )
        if kernel().find("file_format", name) is None:
            raise no_format(f"base file {base.path}", name)
        raise UnsupportedTableError(
            f"base file {base.path}",
            f"is a {name} file, and those of the table are {file_format.extension} "
            "(hoodie.table.base.file.format): another writer did not go by that",
            "restore the table to an instant before it (table.restore); do not use that writer.",
        )
    if base is not None and base.instant == SKELETONS and is_plain_parquet(file_format):
        raise bootstrapped(f"base file {base.path}")


@runtime_checkable
class HasSources(Protocol):
    """Optional for a file format: rows of some base files lie in two files."""

    def bootstrap_path(self, storage: Storage, path: str) -> str | None:
        """The URI of the other file of the base file ``path``; None if it is whole."""


def is_skeleton(slice_: FileSlice) -> bool:
    """Whether the slice's base file has the meta columns of its rows alone."""
    return slice_.base_file is not None and slice_.base_file.instant == SKELETONS


def source_files(
    storage: Storage, config: TableConfig, slices: Iterable[FileSlice]
) -> dict[str, str]:
    """Path of each base file of ``slices`` that is a skeleton -> URI of its other file, for plans
    that other writers may run."""
    paths = [s.base_file.path for s in slices if s.base_file is not None and is_skeleton(s)]
    if not paths:
        return {}
    file_format = resolve("file_format", config.base_file_format, Settings(config)).instance
    if not isinstance(file_format, HasSources):
        return {}
    found = {path: file_format.bootstrap_path(storage, path) for path in paths}
    return {path: uri for path, uri in found.items() if uri is not None}


def bootstrapped(obj: str) -> UnsupportedTableError:
    """For the base file ``obj`` of a bootstrap that copied no rows."""
    return UnsupportedTableError(
        obj,
        "has Hudi's meta columns only; a bootstrap (METADATA_ONLY) left the others in files "
        "outside of the table",
        "restore the property hoodie.bootstrap.base.path and the index "
        ".hoodie/.aux/.bootstrap, which say where these files are.",
    )


def no_format(obj: str, name: str) -> UnsupportedTableError:
    """The error about the base file format ``name`` of ``obj``, which no installed plugin has."""
    brought = MEMBERS.get(("file_format", name.upper()))
    fix = (
        install([brought])
        if brought
        else f"install a plugin distribution that offers {name.lower()!r}, or copy the rows with "
        "Spark Hudi into a table with base files in Parquet"
    )
    return UnsupportedTableError(
        obj,
        f"its base files are in the format {name}, and no installed plugin of the family "
        f"file_format offers {name.lower()!r}",
        f"{fix} (`hoodoo plugins` lists what there is).",
    )
