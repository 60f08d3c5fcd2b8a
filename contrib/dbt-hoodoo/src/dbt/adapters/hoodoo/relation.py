"""Relations and columns, as Spark's SQL writes them."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.base import BaseRelation, Column
from dbt.adapters.base.relation import Policy


@dataclass
class HoodooQuoting(Policy):
    database: bool = True
    schema: bool = True
    identifier: bool = True


@dataclass(frozen=True, eq=False, repr=False)
class HoodooRelation(BaseRelation):
    quote_policy: Policy = field(default_factory=HoodooQuoting)
    quote_character: str = "`"
    require_alias: bool = True


@dataclass
class HoodooColumn(Column):
    """A column of a type that Spark's SQL names."""

    @property
    def quoted(self) -> str:
        return f"`{self.column}`"

    @property
    def data_type(self) -> str:
        return self.dtype

    def is_string(self) -> bool:
        return self.dtype.lower() == "string"

    def string_size(self) -> int:
        return 2**31 - 1

    def can_expand_to(self, other_column: Column) -> bool:
        """Texts have no length that could grow."""
        return False

    @classmethod
    def string_type(cls, size: int) -> str:
        return "string"
