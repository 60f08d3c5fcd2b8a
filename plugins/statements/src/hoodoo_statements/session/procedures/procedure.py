"""Procedure: what CALL may name; Call: one call of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from attrs import field, frozen
from hoodoo.errors import ConfigError
from hoodoo.table.table import Table
from hoodoo.table.table import open as open_table
from sqlglot import exp

from hoodoo_statements.session.names import SessionNames
from hoodoo_statements.text.dialect import DIALECT

Rows = list[tuple[Any, ...]]
_TYPES = {
    "string": pa.string(),
    "long": pa.int64(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
    "double": pa.float64(),
}


@frozen
class Call:
    """The call of a procedure. ``given``: its arguments by name, in lower case; those that are
    null are left out."""

    procedure: str
    given: Mapping[str, Any]
    names: SessionNames
    _found: list[Table] = field(factory=list, init=False)

    @property
    def engine(self) -> str | None:
        return None if self.names.spark is None else "spark"

    @property
    def limit(self) -> int | None:
        """How many rows are asked for; None: all."""
        found = self.given.get("limit")
        return None if found is None or found < 0 else int(found)

    @property
    def table(self) -> Table:
        """The table that ``table`` or ``path`` names. ConfigError for none, or both."""
        if not self._found:
            self._found.append(self._open())
        return self._found[0]

    def _open(self) -> Table:
        if ("table" in self.given) == ("path" in self.given):
            raise ConfigError(
                f"procedure {self.procedure}",
                "needs one table.",
                "Write table => 'db.t' or path => '/path/of/t'.",
            )
        if "path" in self.given:
            return open_table(str(self.given["path"]))
        return self.names.table(exp.to_table(str(self.given["table"]), dialect=DIALECT))

    def get(self, name: str, default: Any = None) -> Any:
        return self.given.get(name, default)


@frozen
class Procedure:
    """``parameters``: names in Hudi's order, as Hudi spells them, with ``=`` and the default where
    there is one; ``*`` marks those that are required, ``-`` those that mean nothing here.
    ``columns``: of the answer, with ``:`` and the type where it is no text."""

    parameters: str
    columns: str
    run: Callable[[Call], Rows]

    @property
    def listed(self) -> dict[str, str]:
        """The parameters by their names in lower case, each as it is declared."""
        return {name_of(one).lower(): one for one in self.parameters.split()}

    @property
    def schema(self) -> pa.Schema:
        pairs = (one.partition(":") for one in self.columns.split())
        return pa.schema([(name, _TYPES[kind or "string"]) for name, _, kind in pairs])

    @property
    def defaults(self) -> dict[str, Any]:
        """The values of parameters that a call does not give."""
        found = dict[str, Any]()
        for name, one in self.listed.items():
            _, equals, text = one.partition("=")
            if equals:
                found[name] = {"true": True, "false": False}.get(text, text)
                if text.lstrip("-").isdecimal():
                    found[name] = int(text)
        return found

    def answer(self, call: Call) -> pa.Table:
        """The rows, as a table."""
        rows, schema = self.run(call), self.schema
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        return pa.table(arrays, schema=schema)

    def text(self) -> str:
        """What ``CALL help(cmd => ...)`` answers of it."""
        lines = ["parameters:", "name\trequired\tdefault"]
        for one in self.parameters.split():
            if not one.endswith("-"):
                lines.append(f"{name_of(one)}\t{one.endswith('*')}\t{one.partition('=')[2]}")
        lines += ["outputType:", "name\ttype"]
        pairs = (one.partition(":") for one in self.columns.split())
        lines += [f"{name}\t{kind or 'string'}" for name, _, kind in pairs]
        return "\n".join(lines)


def name_of(parameter: str) -> str:
    """The name of a parameter that is declared so."""
    return parameter.partition("=")[0].rstrip("*-")
