"""The files of an Iceberg table: versions of its metadata, and what they name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from attrs import frozen
from hoodoo.errors import CorruptTableError
from hoodoo.storage.api import Storage
from hoodoo.storage.together import discard

from hoodoo_publishing.files import Head
from hoodoo_publishing.iceberg import manifests
from hoodoo_publishing.iceberg.manifests import Manifest
from hoodoo_publishing.iceberg.partitions import Row
from hoodoo_publishing.iceberg.remembered import opened

FOLDER = "metadata"


HINT = f"{FOLDER}/version-hint.text"


_VERSION = re.compile(rf"{FOLDER}/v(\d+)\.metadata\.json")


# In the summary of a snapshot: the commit that it shows.
INSTANT = "hoodoo.instant"
_VERSIONS = 20  # metadata files before the newest one


_SCHEMES = re.compile(r"^(s3|abfs|wasb)[an]?s?://", re.IGNORECASE)


_PROPERTIES = {
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": str(_VERSIONS),
}


_LATE = 3600.0  # seconds after which nobody publishes what was put before


DAMAGE = (ValueError, KeyError, TypeError, IndexError, EOFError, FileNotFoundError)


@frozen
class State:
    """``metadata``: the newest metadata file; ``manifests``: those of its current snapshot, or,
    where another program made that, of the newest before it of this one; ``versions``: numbers of
    the metadata files that there are."""

    metadata: dict[str, Any]
    manifests: tuple[Manifest, ...]
    versions: tuple[int, ...] = ()

    @property
    def current(self) -> dict[str, Any] | None:
        found = [
            s
            for s in self.metadata["snapshots"]
            if s["snapshot-id"] == self.metadata["current-snapshot-id"]
        ]
        return found[0] if found else None

    @property
    def published(self) -> dict[str, Any] | None:
        """The newest snapshot that shows a commit of the table, as far as the current one descends
        from it."""
        by_id = {snapshot["snapshot-id"]: snapshot for snapshot in self.metadata["snapshots"]}
        found = self.current
        while found is not None and INSTANT not in found["summary"]:
            found = by_id.pop(found.get("parent-snapshot-id"), None)
        return found

    @property
    def is_foreign(self) -> bool:
        """Whether another program made the current snapshot."""
        return self.published is not self.current

    @property
    def fields(self) -> list[Row]:
        number = self.metadata["current-schema-id"]
        return next(s["fields"] for s in self.metadata["schemas"] if s["schema-id"] == number)


def metadata_versions(storage: Storage) -> tuple[int, ...]:
    found = (_VERSION.fullmatch(entry.path) for entry in storage.list(FOLDER))
    return tuple(sorted(int(match[1]) for match in found if match))


def metadata_path(version: int) -> str:
    return f"{FOLDER}/v{version}.metadata.json"


def read_metadata(storage: Storage, versions: tuple[int, ...]) -> State | None:
    """The newest metadata file; None if it is of a table elsewhere, of which this one is a copy:
    all paths in it are absolute."""
    path = metadata_path(versions[-1])
    try:
        metadata = json.loads(storage.get(path))
        root = metadata["location"]
        if _place(root) != _place(storage.root):
            return None
        found = State(metadata, (), versions)
        published = found.published
        if published is None:
            return found
        rows = manifests.read(storage.get(below_root(root, published["manifest-list"])))
        each = opened(storage, root, rows)
    except DAMAGE as error:
        raise damaged(storage, path, error) from error
    return State(metadata, each, versions)


def damaged(storage: Storage, path: str, error: Exception) -> CorruptTableError:
    return CorruptTableError(
        f"{storage.root}/{path}",
        f"the Iceberg metadata can't be read ({type(error).__name__}: {error}).",
        f"Delete the folder {FOLDER}; the next write makes it again.",
    )


def _place(root: str) -> str:
    """``root`` without what is spelled in several ways: s3 and s3a are one bucket."""
    return _SCHEMES.sub(r"\1://", root).rstrip("/")


def pointer(head: Head) -> str:
    """The URI of the metadata file of ``head``, as catalogs name it."""
    return f"{head.detail.metadata['location']}/{metadata_path(head.version)}"


def version_at(storage: Storage, uri: str) -> int | None:
    """The version whose metadata file is at ``uri``; None for a file of another program."""
    folder, _, name = uri.rpartition(f"/{FOLDER}/")
    match = _VERSION.fullmatch(f"{FOLDER}/{name}")
    return int(match[1]) if match and _place(folder) == _place(storage.root) else None


def below_root(root: str, uri: str) -> str:
    return uri.removeprefix(f"{root}/")


def put_metadata(
    storage: Storage, metadata: dict[str, Any], version: int, time: int, there: Iterable[int]
) -> bool:
    """Decide the version after ``version``; False if another process was first. Of the versions
    that are ``there``, the newest stay."""
    if version:
        before = f"{metadata['location']}/{metadata_path(version)}"
        log = {"timestamp-ms": metadata["last-updated-ms"], "metadata-file": before}
        metadata["metadata-log"] = [*metadata["metadata-log"], log][-_VERSIONS:]
    listed = {snapshot["snapshot-id"] for snapshot in metadata["snapshots"]}
    shown = [entry for entry in metadata["snapshot-log"] if entry["snapshot-id"] in listed]
    metadata["snapshot-log"], metadata["last-updated-ms"] = shown, time
    metadata["properties"].update(_PROPERTIES)
    if not storage.put_if_absent(metadata_path(version + 1), json.dumps(metadata).encode()):
        return False
    storage.put(HINT, str(version + 1).encode())
    discard(storage, [metadata_path(number) for number in there if number <= version - _VERSIONS])
    return True


def discard_unlisted(
    storage: Storage, metadata: dict[str, Any], listed: list[dict[str, Any]]
) -> None:
    """Delete the manifest lists of those ``listed`` snapshots that ``metadata`` does not list any
    more, and the manifests that only these name. A manifest is named by snapshots that follow each
    other: of those that stay, the ones beside a removed one are read."""
    stay = {snapshot["snapshot-id"] for snapshot in metadata["snapshots"]}
    stays = [snapshot["snapshot-id"] in stay for snapshot in listed]
    beside = [
        n for n, it_stays in enumerate(stays) if it_stays and not all(stays[max(n - 1, 0) : n + 2])
    ]
    gone = [snapshot for snapshot, it_stays in zip(listed, stays, strict=True) if not it_stays]
    root, named = metadata["location"], set[str]()
    for snapshot in gone:
        with suppress(*DAMAGE):  # deleted already, or damaged
            named |= manifest_paths(storage, root, snapshot)
    try:
        for number in beside if named else ():
            named -= manifest_paths(storage, root, listed[number])
    except DAMAGE:  # what they name is not known
        named = set()
    paths = [*(below_root(root, s["manifest-list"]) for s in gone), *sorted(named)]
    discard(storage, [path for path in paths if "://" not in path])  # others write elsewhere, too


def sweep(storage: Storage, metadata: dict[str, Any], current: Iterable[Manifest]) -> None:
    """Delete lists and manifests of processes that ended before they could publish them: those that
    no snapshot of ``metadata`` names, and that are not new. ``current``: the manifests of its
    current snapshot."""
    root, entries = metadata["location"], storage.list(FOLDER)
    now = max((entry.modified for entry in entries), default=0.0)  # by the clock of the store
    lists = [below_root(root, snapshot["manifest-list"]) for snapshot in metadata["snapshots"]]
    named = {*lists, *(below_root(root, manifest.row["manifest_path"]) for manifest in current)}
    stray = {e.path for e in entries if e.path.endswith(".avro") and e.modified < now - _LATE}
    stray -= named
    try:
        for snapshot in metadata["snapshots"] if stray else ():
            stray -= manifest_paths(storage, root, snapshot)
    except DAMAGE:  # what it names is not known
        return
    discard(storage, sorted(stray))


def manifest_paths(storage: Storage, root: str, snapshot: dict[str, Any]) -> set[str]:
    rows = manifests.read(storage.get(below_root(root, snapshot["manifest-list"])))
    return {below_root(root, row["manifest_path"]) for row in rows}


def current_schema(metadata: dict[str, Any]) -> dict[str, Any]:
    number = metadata["current-schema-id"]
    found: dict[str, Any] = next(s for s in metadata["schemas"] if s["schema-id"] == number)
    return found
