"""Decision: what a number of the ledger holds, and its bytes."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode

from attrs import frozen

from hoodoo.errors import CorruptTableError
from hoodoo.storage.api import Storage

FOLDER = ".hoodie/.hoodoo/ledger"
File = tuple[str, bytes]  # path, content


@frozen
class Whole:
    """An action that is decided from its request to its end: its requested, inflight and completed
    file, and the files of the table that are ``gone`` before the last one. Each step may be
    repeated, by whomever. Or its request alone. ``kept``: files of the timeline that keep files of
    the table (savepoints), as far as they were known."""

    files: tuple[File, ...]
    gone: tuple[str, ...]
    kept: tuple[str, ...] = ()


@frozen
class Decision:
    """``content`` appears at ``path``, a file of a timeline; an empty path decides nothing but that
    whoever looked before has to look again. ``needs``: files of the timeline without which it is
    void. ``before``: further files and their contents, which appear first (what the metadata table
    says of the commit that ``path`` makes visible). ``then``: what is done next."""

    path: str = ""
    content: bytes = b""
    needs: tuple[str, ...] = ()
    before: tuple[File, ...] = ()
    then: Whole | None = None


def number_path(number: int) -> str:
    """The path of the file of ``number``, relative to the table."""
    return f"{FOLDER}/{number:012d}"


def encode_decision(token: str, decision: Decision) -> bytes:
    """A line of JSON, then the contents."""
    head = {"token": token, "path": decision.path, "needs": decision.needs}
    if decision.before:
        sizes = [[path, len(content)] for path, content in decision.before]
        head["before"] = sizes  # type: ignore[assignment]  # JSON takes it
    if decision.then is not None:
        small = [[path, b64encode(content).decode()] for path, content in decision.then.files]
        then = {"files": small, "gone": decision.then.gone, "kept": decision.then.kept}
        head["then"] = then  # type: ignore[assignment]
    contents = b"".join(content for _path, content in decision.before) + decision.content
    return json.dumps(head).encode() + b"\n" + contents


def decode_decision(storage: Storage, number: int) -> tuple[str, Decision]:
    """Token and decision of a number. Raises FileNotFoundError, and CorruptTableError naming the
    file."""
    data = storage.get(number_path(number))
    try:
        head, _, content = data.partition(b"\n")
        record = json.loads(head)
        needs = tuple(str(path) for path in record["needs"])
        before = []
        for path, size in record.get("before", ()):
            before.append((str(path), content[:size]))
            content = content[size:]
        then: Whole | None = None
        if whole := record.get("then"):
            files = tuple((str(path), b64decode(text)) for path, text in whole["files"])
            then = Whole(files, tuple(whole["gone"]), tuple(whole.get("kept", ())))
        decision = Decision(str(record["path"]), content, needs, tuple(before), then)
        return str(record["token"]), decision
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptTableError(
            f"{storage.root}/{number_path(number)}",
            "it does not contain a decision about the table",
            "Compare with `hoodoo timeline`, then delete this file: if a commit was lost with it, "
            "its instant is pending, and the next write undoes it.",
        ) from error
