"""Objects that are created if they are absent, and by whom.

A request that creates an object is sent without the client's own retries, so that the fate of each
is known. Where an answer is lost, the request is sent again: the condition lets at most one of them
through. If the answer is that the object is there, it may be ours: each creation has a token of its
own, kept in the object's metadata, and what lies there is looked at. Equal bytes of another writer
have another token."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import obstore
from hoodoo.errors import StorageError, StorageUnknownError
from hoodoo.storage.temporaries import TEMP_DIR

from hoodoo_cloud.clients import Patience, client, got, tried
from hoodoo_cloud.faults import (
    CREATING,
    STRANGE,
    Fate,
    StrangeAnswerError,
    explained,
    fate,
    never_sent,
)
from hoodoo_cloud.places import Place

# Letters alone: so every cloud takes it as a name, and every proxy lets it pass.
TOKEN = "hoodootoken"
PROBE = f"{TEMP_DIR}/probe-"
# The forms of the tags that they give to objects of one put. Others cost a look at each object that
# is created.
_TAGS = {
    "s3": re.compile(r"[0-9a-fA-F]{32}"),
    "gs": re.compile(r"[0-9a-fA-F]{32}"),
    "azure": re.compile(r"0x[0-9a-fA-F]+"),
}

_lock = threading.Lock()
_proven: set[Place] = set()


def send(place: Place, key: str, data: bytes | memoryview, token: str) -> str:
    """One request: ``key``, if there is none. Its tag; empty where the answer is not in the store's
    form. Raises obstore's errors."""
    made = obstore.put(
        client(place, size=len(data)),
        key,
        data,
        mode="create",
        attributes={TOKEN: token},
        use_multipart=False,
    )
    return tag_of(made) if genuine(place, made) else ""


def genuine(place: Place, made: Mapping[str, Any]) -> bool:
    """Whether the answer to a put looks like the store's own. A page may have a tag, too."""
    if place.cloud == "gs" and made["version"]:
        return str(made["version"]).isdigit()
    form = _TAGS.get(place.cloud)
    return form is None or form.fullmatch(tag_of(made)) is not None


def tag_of(said: Mapping[str, Any]) -> str:
    """The tag in the answer to a put, a look or a listing, which spell the same one in two ways."""
    return (said["e_tag"] or "").strip('"')


def owner_of(place: Place, key: str) -> tuple[str | None, str]:
    """The token of the creation of what lies there, and its tag. Raises FileNotFoundError, and
    obstore's errors."""
    found = tried(place, lambda: got(place, key, {"head": True}))
    return found.attributes.get(TOKEN), tag_of(found.meta)


def create(place: Place, key: str, data: bytes | memoryview, obj: str) -> str | None:
    """We created ``key``: its tag. None: it was there, as a look has shown. StorageError: we did
    not; StorageUnknownError: who knows. No answer but success makes an object exist."""
    token, patience = secrets.token_hex(16), Patience(place)
    last: Exception
    unanswered = False
    while True:
        try:
            if tag := send(place, key, data, token):
                return tag
            found, last = Fate.EXISTS, StrangeAnswerError(STRANGE)
            unanswered = True
        except Exception as error:
            found, last = fate(error), error
        if found is Fate.EXISTS:
            try:
                owner, tag = owner_of(place, key)
                return tag if owner == token else None
            except FileNotFoundError:
                # Deleted since, ours or another's; or not there, whatever the answer to the put
                # was.
                if unanswered and not isinstance(last, StrangeAnswerError):
                    raise _lost(last, place, obj) from None
            except Exception as error:
                raise _lost(error, place, obj) from None
        unanswered = unanswered or found is Fate.UNKNOWN
        if found is Fate.REFUSED or not patience.again(last):
            break
    if unanswered or not never_sent(
        last
    ):  # also after a refusal: a proxy may give one for what was carried out
        with suppress(Exception):
            owner, tag = owner_of(place, key)
            if owner == token or (unanswered and owner is not None):
                return tag if owner == token else None
    # Not there, or not to be seen: without an answer, a request may still be on its way.
    kind = StorageUnknownError if unanswered else StorageError
    raise explained(last, place, obj, CREATING, kind)


def _lost(error: Exception, place: Place, obj: str) -> StorageError:
    return explained(error, place, obj, "looking at what was created", StorageUnknownError)


def prove(place: Place, below: Callable[[str], str], root: str) -> None:
    """Find out, before the first write, that the store creates on conditions and keeps our tokens.
    Of the clouds themselves it is known; of a server that speaks their protocols, a probe shows it,
    once in a process."""
    if place.known or place in _proven:
        return
    with _lock:
        if place in _proven:
            return
        key = below(f"{PROBE}{secrets.token_hex(8)}")
        obj = f"{root} (a probe)"
        try:
            _probe(place, key, obj)
        finally:
            with suppress(Exception):  # what is left of it is swept later
                obstore.delete(client(place), key)
        _proven.add(place)


def _text_and_token(place: Place, key: str) -> tuple[bytes, str | None]:
    kept = got(place, key)
    return bytes(kept.bytes()), kept.attributes.get(TOKEN)


def _probe(place: Place, key: str, obj: str) -> None:
    where = dict(place.settings).get("endpoint", place.bucket)
    fix = (
        "Use a store that supports If-None-Match in PUT: S3, Google Cloud Storage, Azure, or a "
        "newer version of this "
        "server. Nothing was written."
    )
    try:
        created = create(place, key, b"first", obj)
        again = create(place, key, b"second", obj)
        text, owner = tried(place, lambda: _text_and_token(place, key))
    except StorageError:
        raise
    except Exception as error:
        raise explained(error, place, obj, "reading") from None
    if created is None or again is not None or text != b"first":
        raise StorageError(
            obj,
            f"{where} ignores the condition of a conditional put, so two writers would overwrite "
            "each other.",
            fix,
        )
    if not owner:
        raise StorageError(
            obj, f"{where} does not keep metadata of objects, by which a writer knows its own.", fix
        )
