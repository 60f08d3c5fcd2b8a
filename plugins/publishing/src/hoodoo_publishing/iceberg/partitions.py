"""Partition specs (Iceberg table specification, "Partitioning").

A file whose partition columns have one value each, and no null, is in the partition of these
values, by what its footer says. Other files are in the unpartitioned spec 0; a snapshot may have
both."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from hoodoo_publishing.footers import Footer
from hoodoo_publishing.iceberg.values import single

Row = dict[str, Any]
# Types of columns whose bounds in footers are exact, with those of Avro.
_AVRO: dict[str, Any] = {
    "string": "string",
    "int": "int",
    "long": "long",
    "date": {"type": "int", "logicalType": "date"},
}
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)  # as fields of Avro may have


@frozen
class Spec:
    """``columns``: name, id of the partition field, id of the column and its type, of each."""

    number: int = 0
    columns: tuple[tuple[str, int, int, str], ...] = ()

    @property
    def fields(self) -> list[Row]:
        """As metadata has them."""
        return [
            {"source-id": source, "field-id": own, "name": name, "transform": "identity"}
            for name, own, source, _ in self.columns
        ]

    @property
    def header(self) -> dict[str, str]:
        """Of a manifest."""
        return {"partition-spec": json.dumps(self.fields), "partition-spec-id": str(self.number)}

    @property
    def record(self) -> Row:
        """The type of partitions in manifests."""
        made = [
            {"name": name, "type": ["null", _AVRO[kind]], "field-id": own, "default": None}
            for name, own, _, kind in self.columns
        ]
        return {"type": "record", "name": "r102", "fields": made}

    def values(self, footer: Footer) -> Row | None:
        """The partition of a file; None if it has rows of several, or nulls, or does not say
        so."""
        found: Row = {}
        for name, _, _, kind in self.columns:
            column = footer.columns.get(name)
            # Null is a value in Iceberg, too. But pyiceberg 0.12 fails where it compares the null
            # of a partition; by the counts of nulls, readers leave out the file all the same.
            if (
                column is None
                or column.nulls is None
                or column.nulls
                or column.least is None
                or column.least != column.most
                or (kind == "string" and not isinstance(column.least, str))
            ):
                return None
            found[name] = column.least
        return found

    def summaries(self, entries: Iterable[Row]) -> list[Row]:
        """Of the partitions of ``entries``, as manifest lists have them."""
        each = [entry["data_file"]["partition"] for entry in entries]
        return [self._summary(name, kind, each) for name, _, _, kind in self.columns]

    @staticmethod
    def _summary(name: str, kind: str, each: Sequence[Row]) -> Row:
        known = {partition[name] for partition in each}
        values = known - {None}
        return {
            "contains_null": None in known,
            "contains_nan": None,
            "lower_bound": single(kind, min(values)) if values else None,
            "upper_bound": single(kind, max(values)) if values else None,
        }


def spec_of(metadata: Mapping[str, Any], number: int) -> Spec:
    """The spec of this number, with the types that its columns have since."""
    stored = next(spec for spec in metadata["partition-specs"] if spec["spec-id"] == number)
    kinds = {f["id"]: f["type"] for schema in metadata["schemas"] for f in schema["fields"]}
    columns = (
        (f["name"], f["field-id"], f["source-id"], kinds[f["source-id"]]) for f in stored["fields"]
    )
    return Spec(number, tuple(columns))


def with_spec(metadata: dict[str, Any], names: Sequence[str], fields: Sequence[Row]) -> Spec:
    """The spec of new files, which is the default one of ``metadata`` then. ``names``: the
    partition columns of the table; ``fields``: all of its columns."""
    by_name = {field["name"]: field for field in fields}
    each = [by_name.get(name, {}) for name in names]
    if not all(isinstance(f.get("type"), str) and f["type"] in _AVRO for f in each) or not all(
        map(_NAME.fullmatch, names)
    ):
        each = []
    sources = [field["id"] for field in each]
    for stored in metadata["partition-specs"]:
        if [field["source-id"] for field in stored["fields"]] == sources:
            metadata["default-spec-id"] = stored["spec-id"]
            return spec_of(metadata, stored["spec-id"])
    first = metadata["last-partition-id"] + 1
    made = Spec(
        1 + max(spec["spec-id"] for spec in metadata["partition-specs"]),
        tuple((f["name"], first + n, f["id"], f["type"]) for n, f in enumerate(each)),
    )
    metadata["partition-specs"].append({"spec-id": made.number, "fields": made.fields})
    metadata["default-spec-id"] = made.number
    metadata["last-partition-id"] = first + len(each) - 1
    return made
