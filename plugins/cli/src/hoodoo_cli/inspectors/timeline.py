"""Files of the timeline, of every table version; properties; other files of JSON or Avro."""

from __future__ import annotations

from typing import Any

from attrs import frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.storage.api import Storage
from hoodoo.timeline import codec, javaprops
from hoodoo.timeline.names import parse_completed, parse_pending

from hoodoo_cli.hookspecs.inspector import Inspected
from hoodoo_cli.toolkit.values import plain

# Fields that are shown in another place.
_SHOWN = ("partitionToWriteStats", "operationType")
_AVRO = b"Obj\x01"
_PROPERTIES = (".properties", ".hoodie_partition_metadata")


@frozen
class TimelineInspector:
    """Implements :class:`hoodoo_cli.hookspecs.inspector.Inspector`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> TimelineInspector:
        return cls()

    def accepts(self, name: str, head: bytes) -> bool:
        contents = head.startswith(_AVRO) or head.lstrip().startswith(b"{")
        return name.endswith(_PROPERTIES) or _instant(name) is not None or contents

    def inspect(self, storage: Storage, path: str, rows: int) -> Inspected:
        data, name = storage.get(path), path.rpartition("/")[2]
        if name.endswith(_PROPERTIES):
            found = dict(sorted(javaprops.parse(data).items()))
            return Inspected(
                "properties", {"properties": len(found)}, {"properties": _pairs(found)}
            )
        instant = _instant(name)
        contents = plain(codec.decode(data, f"{storage.root}/{path}"))
        if instant is None:  # a plan, an index definition
            kind = "Avro file" if data.startswith(_AVRO) else "JSON file"
            parts: dict[str, Any] = {"contents": _fields(contents)}
            return Inspected(kind, {"bytes": len(data)}, parts, {"contents": contents})
        stats = [
            {"partition": partition, **_figures(one)}
            for partition, each in (contents.get("partitionToWriteStats") or {}).items()
            for one in each
        ]
        facts = {
            "instant": instant.requested,
            "action": instant.action,
            "state": instant.state.value.lower(),
            "completed": instant.completed,
            "encoding": "empty" if not data else "Avro" if data.startswith(_AVRO) else "JSON",
            "bytes": len(data),
            "operation": contents.get("operationType"),
        }
        others = {name: value for name, value in contents.items() if name not in _SHOWN}
        extra = others.pop("extraMetadata", None) or {}
        others |= {name: value for name, value in extra.items() if name != "schema"}
        parts = {"files": stats} if stats else {}
        if others:
            parts["contents"] = _fields(others)
        return Inspected("timeline file", facts, parts, {"contents": contents})


def _instant(name: str) -> Any:
    return parse_pending(name) or parse_completed(name)


def _fields(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"field": name, "value": value} for name, value in found.items() if value is not None]


def _pairs(found: dict[str, str]) -> list[dict[str, str]]:
    return [{"property": name, "value": value} for name, value in found.items()]


def _figures(stat: dict[str, Any]) -> dict[str, Any]:
    path = str(stat.get("path") or "")
    return {
        "file": path.rpartition("/")[2],
        "rows": stat.get("numWrites"),
        "inserts": stat.get("numInserts"),
        "updates": stat.get("numUpdateWrites"),
        "deletes": stat.get("numDeletes"),
        "bytes": stat.get("fileSizeInBytes"),
    }
