"""Proof: all files of a table are looked through for record keys, and a report says what came of
it.

Each file is read whole: its bytes, and what they are decoded to. The report names keys by
hashes."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import CommitConflictError
from hoodoo.storage.api import Entry, Storage
from hoodoo.storage.together import side_by_side

from hoodoo_erasure.contents import Decoding
from hoodoo_erasure.sought import LEAST, MOST, Hashes, Sought

_CHUNK = 8 << 20
_AHEAD = 256 << 20  # bytes of files that are looked through at the same time
_ROUNDS = 20
FILTER = "bloom filter"
_SIGNATURE = "signature"
NOT_COVERED = (
    "older versions and deleted objects that the store keeps (versioning, snapshots, soft delete)",
    "copies: backups, clones, exports, caches, and files that readers have open",
    "temporary files of writers on other machines, which the local store deletes after a day",
    "other tables, and files outside of the table's directory",
)


@frozen
class Seen:
    """What one file has been found to be. ``unread``: why it could not be decoded."""

    entry: Entry
    kind: str
    sha256: str
    found: Mapping[str, tuple[str, ...]]  # by place
    unread: str = ""


def look_through(
    storage: Storage, decoding: Decoding, sought: Sought, spare: Collection[str]
) -> list[Seen]:
    """Every file of the table but ``spare``, until no new one has come."""
    done: dict[tuple[str, int, float, str], Seen] = {}
    for _ in range(_ROUNDS):
        entries = [e for e in storage.list("", recursive=True) if e.path not in spare]
        names = {(e.path, e.size, e.modified, e.tag): e for e in entries}
        calls = (
            (partial(_look, storage, decoding, sought, entry), entry.size)
            for name, entry in names.items()
            if name not in done
        )
        new = [seen for seen in side_by_side(storage, calls, _AHEAD) if seen is not None]
        for seen in new:
            e = seen.entry
            done[e.path, e.size, e.modified, e.tag] = seen
        if not new:
            return [done[name] for name in names if name in done]
    raise CommitConflictError(
        storage.root,
        f"files came and went {_ROUNDS} times while they were looked through.",
        "Repeat the call when fewer writers are active.",
    )


def _look(storage: Storage, decoding: Decoding, sought: Sought, entry: Entry) -> Seen | None:
    found: dict[str, set[str]] = {}

    def add(place: str, texts: Collection[str]) -> None:
        if texts:
            found.setdefault(place, set()).update(texts)

    add("path", [*sought.in_bytes(entry.path.encode())])
    unread, digest = "", hashlib.sha256()
    try:
        with storage.open(entry.path) as file:
            head = b""
            for chunk in _chunks(file, sought.longest):
                head = head or chunk[1][:64]
                digest.update(chunk[1])
                add("bytes", [*sought.in_bytes(b"".join(chunk))])
            kind = decoding.kind(entry.path, head)
            file.seek(0)
            try:
                for part in decoding.parts(kind, storage, entry.path, file):
                    add(part.place, sought.of(part))
                keys = pa.array(sought.keys, pa.string())
                add(FILTER, decoding.filtered(storage, entry.path, keys))
            except FileNotFoundError:
                return None
            except Exception as error:  # whatever the bytes provoke: the report says so
                unread = f"{type(error).__name__}: {error}"
    except FileNotFoundError:  # it went meanwhile
        return None
    each = {place: tuple(sorted(texts)) for place, texts in sorted(found.items())}
    return Seen(entry, kind, digest.hexdigest(), each, unread)


def _chunks(file: pa.NativeFile, longest: int) -> Iterator[tuple[bytes, bytes]]:
    """The file in pieces, each with the end of the one before."""
    before = b""
    while chunk := file.read(_CHUNK):
        yield before, chunk
        before = (before + chunk)[-longest + 1 :] if longest > 1 else b""


# --- the report ----------
def report(
    seen: Sequence[Seen],
    sought: Sought,
    facts: Mapping[str, Any],
    key: bytes | None,
    left: Callable[[str, str], str],
) -> dict[str, Any]:
    """What has been ``seen``. ``key`` signs it; ``left`` says why a file, in a place, has a key."""
    hashes = Hashes(key if key is not None else secrets.token_bytes(16), key is not None)
    every = [*sought.keys, *sought.texts]

    def name(path: str) -> str:
        return hashes.hidden(path, sought.inside)

    found = [
        {
            "path": name(one.entry.path),
            "where": place,
            "keys": [hashes.of(text) for text in texts],
            "reason": left(one.entry.path, place),
        }
        for one in seen
        for place, texts in one.found.items()
    ]
    unread = [
        {"path": name(one.entry.path), "reason": hashes.hidden(one.unread, sought.inside)}
        for one in seen
        if one.unread
    ]
    method = "hmac-sha256 with the signing key" if key is not None else "hmac-sha256 with the salt"
    said: dict[str, Any] = {
        "report": "hoodoo erasure 1",
        **facts,
        "made": datetime.now(timezone.utc).isoformat(),
        "erased": not found and not unread,
        "keys": {
            "count": len(every),
            "method": method,
            **({} if key is not None else {"salt": hashes.secret.hex()}),
            "hashes": sorted(hashes.of(text) for text in every),
        },
        "looked_for": {
            "as_record_key": len(sought.keys),
            "inside_of_texts": len(sought.inside),
            "rule": f"Record keys of at least {LEAST} bytes, and other texts, are looked for "
            f"inside of all values, if they are at most {MOST}; shorter keys as record keys.",
        },
        "files": [
            {
                "path": name(one.entry.path),
                "bytes": one.entry.size,
                "sha256": one.sha256,
                "decoded_as": one.kind,
            }
            for one in seen
        ],
        "found": found,
        "unread": unread,
        "not_covered": list(NOT_COVERED),
    }
    return {**said, _SIGNATURE: _signature(said, key)}


def _signature(said: Mapping[str, Any], key: bytes | None) -> dict[str, str]:
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    if key is not None:
        return {"method": "hmac-sha256", "value": hmac.new(key, text, hashlib.sha256).hexdigest()}
    return {"method": "sha256", "value": hashlib.sha256(text).hexdigest()}


def is_genuine(report: Mapping[str, Any], key: bytes | None = None) -> bool:
    """Whether ``report`` is as it was made, with the signing ``key`` if it was signed. Without a
    key anybody can make such a report: its digest has to be stored elsewhere."""
    said = {name: value for name, value in report.items() if name != _SIGNATURE}
    given = report.get(_SIGNATURE) or {}
    made = _signature(said, key)
    same = hmac.compare_digest(str(given.get("value", "")), made["value"])
    return same and given.get("method") == made["method"]
