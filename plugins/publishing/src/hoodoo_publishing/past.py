"""What columns were called before: the schemas that a table has had, by Hudi's internal schema. A
column that is renamed keeps its id in Iceberg."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import Factory, frozen
from hoodoo_rows.api import History


@frozen
class Past:
    """``same``: path of a column, at any depth and of any time -> the paths that it has had, the
    newest first. ``reused``: paths that two columns have had. ``now``: those of the table."""

    same: Mapping[str, tuple[str, ...]] = Factory(dict)
    reused: tuple[str, ...] = ()
    now: frozenset[str] = frozenset()

    @classmethod
    def of(cls, history: History | None) -> Past:
        """``history``: None of a table whose columns always had the names of now."""
        if history is None:
            return cls()
        paths: dict[int, list[str]] = {}
        owner: dict[str, int] = {}
        reused = []
        for schema in history.schemas:
            for path, number in _paths(schema, ""):
                each = paths.setdefault(number, [])
                if path not in each:
                    each.append(path)
                if owner.setdefault(path, number) != number:
                    reused.append(path)
        same = {path: tuple(paths[number]) for path, number in owner.items()}
        now = frozenset(path for path, _ in _paths(history.schemas[0], ""))
        return cls(same, tuple(reused), now)

    def moved(self) -> str | None:
        """A column that readers do not find by its name in files of any age: it had another one, or
        a field within it was dropped."""
        for path, each in self.same.items():
            if path in self.now and (len(each) > 1 or path in self.reused):
                return path
            outer, dot, _ = path.partition(".")
            if dot and path not in self.now and outer in self.now:
                return outer
        return None

    def paths(self, path: str) -> tuple[str, ...]:
        """All paths of the column at ``path``, its own among them."""
        return self.same.get(path) or (path,)

    def names(self, path: str) -> list[str]:
        """The name of the column at ``path`` within what it lies in, then those that it had."""
        own = path.rpartition(".")[2]
        return list(dict.fromkeys([own, *(p.rpartition(".")[2] for p in self.paths(path))]))


def _paths(kind: Any, path: str) -> Iterator[tuple[str, int]]:
    """Path and id of each field of a type of an internal schema. Logical types, whose fields have
    negative ids, are one value each."""
    if not isinstance(kind, dict):
        return
    below: Sequence[tuple[str, int, Any]] = ()
    if kind.get("type") == "array":
        below = [("element", kind["element_id"], kind["element"])]
    elif kind.get("type") == "map":
        below = [
            ("key", kind["key_id"], kind["key"]),
            ("value", kind["value_id"], kind["value"]),
        ]
    elif "fields" in kind:
        below = [(f["name"], f["id"], f["type"]) for f in kind["fields"] if f["id"] >= 0]
    for name, number, inner in below:
        yield f"{path}{name}", number
        yield from _paths(inner, f"{path}{name}.")
