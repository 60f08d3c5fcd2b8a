"""The table's own settings: a typed view of ``hoodie.properties``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from attrs import Factory, frozen

from hoodoo.model.meta import META_COLUMNS
from hoodoo.model.table_version import TableVersion, version_of
from hoodoo.options import table, virtual
from hoodoo.options.option import Option

T = TypeVar("T")

# Java class names and enum names of the built-in key generators live with the plugins, as aliases.
DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
PARTITION_FIELDS = "hoodie.table.partition.fields"
# The index of the table: what Hudi takes from this property, and what it would not know.
HUDI_INDEX = table.INDEX_TYPE.key
OWN_INDEX = "hoodoo.index.type"
POPULATE = virtual.POPULATE.key
# The partitions of the metadata table that may be read, and those that are being built.
USABLE_METADATA = "hoodie.table.metadata.partitions"
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
BUILT_METADATA = "hoodie.table.metadata.partitions.inflight"
# RFC-21's own setting, kept as a property beside the one that shipped.
VIRTUAL = virtual.VIRTUAL.key
# Of a table with virtual keys: the requested time up to which its files were made with stored ones.
STORED_UNTIL = "hoodoo.recordkey.stored.until"
# Of a table with virtual keys: the meta columns that its files store all the same.
KEPT_META = virtual.KEPT_META.key


def partition_spec(value: str | None) -> tuple[tuple[str, str | None], ...]:
    """(column, type) of each part of ``city:SIMPLE,ts:TIMESTAMP``; the type is None where it
    lacks."""
    parts = (name.partition(":") for name in _names(value))
    return tuple((name.strip(), kind.strip() or None) for name, _colon, kind in parts)


def _names(value: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (value or "").split(",") if part.strip())


@frozen(repr=False)
class TableConfig:
    """``properties`` is the whole file, unknown keys included; accessors read the known ones."""

    properties: Mapping[str, str] = Factory(dict)

    def __repr__(self) -> str:
        what = f"{self.table_type}, version {self.version}, {len(self.properties)} properties"
        return f"<TableConfig {self.name or 'without a name'}: {what}>"

    def get(self, key: str, default: str | None = None) -> str | None:
        """Return the text of the property ``key`` as it is stored, or ``default``."""
        return self.properties.get(key, default)

    def with_properties(self, **changes: str | None) -> TableConfig:
        """Return a copy with ``changes``; a value of None removes its key. Nothing is stored."""
        merged = {**self.properties, **changes}
        return TableConfig({key: value for key, value in merged.items() if value is not None})

    def _value(self, option: Option[T]) -> T:
        """What the table says, else the default."""
        found = option.stored(self.properties)
        return option.initial if found is None else found

    @property
    def name(self) -> str:
        """The name of the table (``hoodie.table.name``); empty if not stored."""
        return self.properties.get("hoodie.table.name", "")

    @property
    def database(self) -> str:
        """The database of the table in catalogs (``hoodie.database.name``); empty if not stored."""
        return table.DATABASE.stored(self.properties) or ""

    @property
    def table_type(self) -> str:
        """``COPY_ON_WRITE`` or ``MERGE_ON_READ`` (``hoodie.table.type``)."""
        return self.properties.get("hoodie.table.type", TYPES[0])

    @property
    def version(self) -> int:
        """The table version, such as 6 or 9 (``hoodie.table.version``); 0 if not stored."""
        return int(self.properties.get("hoodie.table.version", "0"))

    @property
    def traits(self) -> TableVersion:
        """What the version means."""
        return version_of(self.version)

    @property
    def index_name(self) -> str | None:
        """The index that the properties name."""
        return self.get(HUDI_INDEX) or self.get(OWN_INDEX)

    @property
    def initial_version(self) -> int:
        """The version that the table was made with: an upgraded one has files of before."""
        text = self.properties.get("hoodie.table.initial.version", "").strip()
        return int(text) if text.isdigit() else self.version

    @property
    def layout_version(self) -> int:
        """1 or 2. A file that does not say, or says nothing, means the one of its table version."""
        text = self.properties.get("hoodie.timeline.layout.version", "").strip()
        return int(text) if text else self.traits.layout

    @property
    def timeline_path(self) -> str:
        """Directory of the active timeline, relative to the table root."""
        named = version_of(self.version).timeline_path
        return ".hoodie" if named is None else f".hoodie/{self.properties.get(*named)}"

    @property
    def timezone(self) -> str:
        """``UTC`` or ``LOCAL``, that of the process, as Hudi's writers have it where a table does
        not say."""
        return self.properties.get("hoodie.table.timeline.timezone", "LOCAL").upper()

    @property
    def record_key_fields(self) -> tuple[str, ...]:
        """The columns of the record key, in order; a nested field is ``outer.inner``. Empty for
        generated keys."""
        return _names(self.get("hoodie.table.recordkey.fields"))

    @property
    def partition_fields(self) -> tuple[str, ...]:
        """Column names; the ``:SIMPLE`` / ``:TIMESTAMP`` suffix of the custom generator is cut
        off."""
        return tuple(name for name, _kind in partition_spec(self.get(PARTITION_FIELDS)))

    @property
    def has_partition_types(self) -> bool:
        """Whether partition columns are stored as ``column:TYPE``."""
        return any(kind for _name, kind in partition_spec(self.get(PARTITION_FIELDS)))

    @property
    def ordering_fields(self) -> tuple[str, ...]:
        """The columns that decide which of two rows is newer. Tables of version 6 call them
        precombine fields."""
        return _names(
            self.get("hoodie.table.ordering.fields") or self.get("hoodie.table.precombine.field")
        )

    @property
    def key_generator(self) -> str | None:
        """Type (``SIMPLE``) or Java class name, as the table says it; as in Hudi, a class counts
        before a type."""
        named = self.get("hoodie.table.keygenerator.class")
        return named or self.get("hoodie.table.keygenerator.type")

    @property
    def merge_mode(self) -> str | None:
        """How rows of one key become one (``hoodie.record.merge.mode``); None in tables that have
        no such property."""
        return self.get(table.MERGE_MODE.key)

    @property
    def base_file_format(self) -> str:
        """The name of the file format of base files in upper case, such as ``PARQUET``. Tables that
        Hudi bootstrapped have ``BOOTSTRAPPED_`` in front of it."""
        around = "BOOTSTRAPPED_" if self.get(table.BOOTSTRAP_BASE) else ""
        return around + self._value(table.BASE_FORMAT).upper()

    @property
    def log_file_format(self) -> str:
        """The name of the format of log files in upper case, usually ``HOODIE_LOG``."""
        return self._value(table.LOG_FORMAT).upper()

    @property
    def populate_meta_fields(self) -> bool:
        """Whether files store the five meta columns. False means virtual keys (RFC-21)."""
        return self._value(virtual.POPULATE)

    @property
    def filled_meta(self) -> frozenset[str]:
        """The meta columns that new rows store."""
        if self.populate_meta_fields:
            return frozenset(META_COLUMNS)
        return frozenset(_names(self.get(KEPT_META))) & frozenset(META_COLUMNS)

    @property
    def keys_are_strict(self) -> bool:
        """Whether a null in a key column is an error: of virtual keys, as RFC-21 has it."""
        return not self.populate_meta_fields and virtual.VIRTUAL.stored(self.properties) is True

    @property
    def hive_style(self) -> bool:
        """Whether partition paths have the form ``column=value``."""
        return self._value(table.HIVE_STYLE)

    @property
    def url_encode(self) -> bool:
        """Whether values in partition paths are percent-encoded, as Hive does it."""
        return self._value(table.URL_ENCODE)

    @property
    def drop_partition_columns(self) -> bool:
        """Whether base files lack the partition columns, which readers then make of the path."""
        return self._value(table.DROP_COLUMNS)

    @property
    def create_schema(self) -> str | None:
        """The schema that the table was created with, as Avro JSON; None if not stored. Commits may
        have a newer one."""
        return self.get("hoodie.table.create.schema")

    @property
    def metadata_partitions(self) -> tuple[str, ...]:
        """Usable partitions of the metadata table; empty means there is none."""
        return _names(self.get(USABLE_METADATA))
