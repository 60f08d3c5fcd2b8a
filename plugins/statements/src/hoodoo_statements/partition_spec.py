"""``PARTITION (day = '2026-01-31', hour)``: values of partition columns, and the paths that have
them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field, frozen
from hoodoo.errors import ConfigError, DataError
from hoodoo.table.table import Table
from sqlglot import exp

from hoodoo_statements.text.dialect import DIALECT
from hoodoo_statements.text.scope import named


@frozen
class PartitionSpec:
    """``values``: literals of SQL by the name of their column; ``dynamic``: columns whose values
    come with the rows."""

    values: dict[str, Any] = field(factory=dict)
    dynamic: list[str] = field(factory=list)

    @classmethod
    def of(cls, partition: Any, table: Table) -> PartitionSpec:
        """What ``partition`` says, of the table. ConfigError for a column that is no partition
        column, that is named twice, or that has no literal as its value."""
        made, columns = cls(), partition_columns(table)
        for node in partition.expressions:
            pair = isinstance(node, exp.EQ)
            name = (node.this if pair else node).name
            found = [one for one in columns if one.lower() == name.lower()]
            if not found:
                raise ConfigError(
                    f"column {name} of PARTITION",
                    f"is no partition column of {table.config.name}.",
                    f"It is partitioned by {', '.join(columns) or 'no column'}.",
                )
            if found[0] in made.values or found[0] in made.dynamic:
                raise ConfigError(f"column {name} of PARTITION", "is named twice.", "Name it once.")
            if not pair:
                made.dynamic.append(found[0])
                continue
            if not isinstance(node.expression, (exp.Literal, exp.Null, exp.Boolean, exp.Neg)):
                raise ConfigError(
                    f"column {name} of PARTITION",
                    f"has {node.expression.sql(DIALECT)}, which is no literal.",
                    "Write its value, or the name of the column alone.",
                )
            made.values[found[0]] = node.expression
        return made

    def order(self, table: Table) -> list[str]:
        """The columns that rows have besides ``values``: those of partitions come last."""
        last = partition_columns(table)
        names = [name for name in table.schema.names if name not in self.values]
        return sorted(names, key=lambda name: name in last)

    def paths(self, table: Table, known: Iterable[str]) -> tuple[str, ...]:
        """Those of the partition paths ``known`` that have all these values, by name."""
        if self.dynamic:
            raise ConfigError(
                f"column {self.dynamic[0]} of PARTITION",
                "has no value.",
                f"Write {self.dynamic[0]} = '...', or leave it out for all of its values.",
            )
        wanted = {name: _text(value) for name, value in self.values.items()}
        found = (path for path in known if _matches(values_of(table, path), wanted))
        return tuple(sorted(found))


def partition_columns(table: Table) -> list[str]:
    """The columns of the table that its partition paths are made of."""
    return [name for name in table.config.partition_fields if named(table.schema, name)]


def partition_paths(table: Table) -> tuple[str, ...]:
    """The partition paths that have rows, by name."""
    return tuple(sorted({one.partition_path for one in table.file_slices()}))


def matching(table: Table, partition: Any) -> tuple[str, ...]:
    """The partition paths of the table that ``PARTITION (...)`` means. DataError for none."""
    paths = PartitionSpec.of(partition, table).paths(table, partition_paths(table))
    if not paths:
        raise DataError(
            partition.sql(DIALECT),
            f"is no partition of {table.config.name}.",
            "SHOW PARTITIONS t lists those that there are.",
        )
    return paths


def values_of(table: Table, path: str) -> Mapping[str, Any]:
    """The values that every row below ``path`` has, by the names of their columns. ConfigError
    where the paths of the table do not tell them."""
    generator = table.handle.key_generator()
    found = generator.partition_values(path, table.schema)
    if found is None or set(partition_columns(table)) - set(found):
        raise ConfigError(
            f"partition path {path}",
            "does not tell the values of its columns.",
            "Call table.delete_partitions(paths), or DELETE FROM t WHERE ...",
        )
    return found


def _matches(values: Mapping[str, Any], wanted: Mapping[str, str | None]) -> bool:
    return all(
        (None if values[name] is None else _spelt(values[name])) == text
        for name, text in wanted.items()
    )


def _text(value: Any) -> str | None:
    """A literal as the value in a path is spelt."""
    if isinstance(value, exp.Null):
        return None
    if isinstance(value, exp.Neg):
        return f"-{value.this.name}"
    return _spelt(value.this)


def _spelt(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
