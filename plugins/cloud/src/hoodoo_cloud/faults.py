"""What an error of an object store means: a sentence for it, and whether the request may have taken
place."""

from __future__ import annotations

import html
import re
from enum import Enum

from hoodoo.errors import StorageError
from obstore.exceptions import (
    AlreadyExistsError,
    InvalidPathError,
    NotSupportedError,
    PermissionDeniedError,
    UnauthenticatedError,
)

from hoodoo_cloud.places import Place

_STATUS = re.compile(r"status code: (\d{3})")
# The last form: of one object, in an answer about many.
_CODE = re.compile(r"<Code>(\w+)</Code>|\"code\": ?\"?(\w+)|\(code: (\w+)\)")
_MESSAGE = re.compile(r"<Message>([^<]*)</Message>", re.DOTALL)
_PAGE = re.compile(r"<!doctype html|<html", re.IGNORECASE)
# How the client words an answer of success that is none: not of the store's form, or without its
# headers.
_STRANGE = re.compile(
    r"Got invalid [\w ]+ response|Unable to extract metadata|Header missing|unexpected `Event::Eof`"
)
# Of a request that meets another about the same object. Neither was carried out for that; S3 and
# Google say: again.
_MEETING = ("ConditionalRequestConflict", "OperationAborted", "conditionalRequestConflict")
_REFUSED_CODES = ("AccessDenied", "AllAccessDisabled", "AuthorizationPermissionMismatch")
CREATING, LISTING = "creating", "listing"
STRANGE = "not an answer of a store"
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "specified bucket does not exist")
_REGION = (
    "PermanentRedirect",
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraint",
    "redirect without LOCATION",
)
_EXPIRED = ("ExpiredToken", "TokenRefreshRequired", "token has expired", "token is expired")
_NO_CREDENTIALS = ("169.254.169.254", "169.254.170.2", "metadata.google.internal")
_REJECTED = (
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "AuthenticationFailed",
    "InvalidToken",
    "InvalidClientTokenId",
    "invalid_client",
    "XAdminUserNotFound",
)
# Of keys that this library could not read, before it sent anything.
_UNREADABLE = (
    "Invalid Access Key",
    "service account file",
    "OpenCredentials",
    "DecodeCredentials",
)
_REFUSALS = (PermissionDeniedError, UnauthenticatedError, NotSupportedError, InvalidPathError)


class StrangeAnswerError(Exception):
    """An answer of success that is not the store's: a page of a proxy, a part of an object."""


class Fate(Enum):
    """What became of a request that was answered with an error, or not at all."""

    EXISTS = "the condition did not hold, it says"
    REFUSED = "it did not take place, and won't"
    WAIT = "it did not take place, and may later"
    UNKNOWN = "it may have taken place"


def fate(error: Exception) -> Fate:
    """Of a request that creates an object on the condition that there is none, sent once. EXISTS is
    what the answer says: the client says it of every 409 and 412, and a proxy that sends twice gets
    it for what it has just created. Whether the object is there, and whose it is, a look shows."""
    status, code = _status(error), code_of(error)
    if status == 409 and code in _MEETING:
        return Fate.WAIT
    if isinstance(error, AlreadyExistsError):
        return Fate.EXISTS
    if isinstance(error, (*_REFUSALS, FileNotFoundError)) or _unreadable(error):
        return Fate.REFUSED
    if status in (409, 429) or never_sent(error):
        return Fate.WAIT
    if code == "RequestTimeout":  # 400: the store did not get all of the request in time
        return Fate.UNKNOWN
    if status == 501 or (400 <= status < 500 and status != 408) or code in _REFUSED_CODES:
        return Fate.REFUSED
    return Fate.UNKNOWN


def never_sent(error: Exception) -> bool:
    """Whether no connection was made for the request."""
    return "kind: Connect" in str(error)


def _unreadable(error: Exception) -> bool:
    return any(text in str(error) for text in _UNREADABLE)


def _status(error: Exception) -> int:
    found = _STATUS.search(str(error))
    return int(found[1]) if found else 0


def code_of(error: Exception) -> str:
    """The store's own word for the error, as NoSuchKey; empty if it said none."""
    found = _CODE.search(str(error).partition("Debug source")[0])
    return next(filter(None, found.groups()), "") if found else ""


def may_help(error: Exception) -> bool:
    """Whether to send a request again that does no harm when it is done twice."""
    return not isinstance(error, StorageError) and fate(error) is not Fate.REFUSED


def is_page(error: Exception) -> bool:
    """Whether its answer was written for a browser: a store's own errors are not."""
    return _PAGE.search(str(error)) is not None


def no_bucket(error: Exception) -> bool:
    return any(text in str(error) for text in _NO_BUCKET)


def where_is(place: Place) -> str:
    """The store, as messages name it."""
    said = dict(place.settings)
    return said.get("endpoint") or said.get("base_url") or "the cloud"


def explained(
    error: Exception,
    place: Place,
    obj: str,
    doing: str,
    kind: type[StorageError] = StorageError,
) -> StorageError:
    """``error`` in a sentence. Requests and answers as such are not in it: secrets may be in
    them."""
    if isinstance(error, StorageError):
        return error
    text, status = str(error), _status(error)
    said, where = dict(place.settings), where_is(place)
    code, message = code_of(error), _MESSAGE.search(text)
    page = is_page(error)
    details = ", ".join(
        part
        for part in (
            f"status {status}" if status else "",
            code,
            html.unescape(message[1]).strip().partition("\n")[0].rstrip(".") if message else "",
            "a page, in HTML" if page else "",
        )
        if part
    )

    def made(rule: str, fix: str) -> StorageError:
        return kind(obj, f"{doing} failed: {rule}{f' ({details})' if details else ''}.", fix)

    def has(texts: tuple[str, ...]) -> bool:
        return any(one in text for one in texts)

    refused = has(_REJECTED) or isinstance(error, UnauthenticatedError)
    if has(_NO_BUCKET) or (status == 404 and doing in (CREATING, LISTING) and not refused):
        return made(
            f"there is no bucket {place.bucket!r} at {where}", "Create it, or correct the URI."
        )
    if has(_REGION) or status in (301, 307):
        region = said.get("region", "us-east-1")
        return made(
            f"the bucket is not in the region {region}",
            "Set the bucket's region: the option region, or AWS_REGION.",
        )
    if _unreadable(error):
        return made(
            "the credentials can't be read: the key is not of its form, or its file is not there",
            "Correct the key, or the path of its file.",
        )
    if has(_EXPIRED):
        return made("the token of the credentials has expired", "Get new credentials.")
    if has(_NO_CREDENTIALS):
        return made(
            "no credentials were found: not in options, variables or profile, and this host has "
            "none of its own",
            "Set them, or the option hoodoo.cloud.anonymous for a public bucket.",
        )
    if has(("RequestTimeTooSkewed",)):
        return made("the clock of this host is wrong", "Set it.")
    if refused:
        return made("the credentials are not valid", "Correct keys and token, and the endpoint.")
    if isinstance(error, PermissionDeniedError) or status == 403 or code in _REFUSED_CODES:
        return made(
            "access is denied",
            "Allow these credentials to list the bucket, and to get, put and delete below the "
            "table's path.",
        )
    if status in (429, 503):
        return made("the store asks to slow down", "Try again later, with fewer writers.")
    if doing == CREATING and (status == 501 or isinstance(error, NotSupportedError)):
        return made(
            "the store does not know conditional puts",
            "Use one that supports If-None-Match in PUT: S3, Google Cloud Storage, Azure, or a "
            "newer version of it.",
        )
    if isinstance(error, InvalidPathError):
        return made("the store takes no such name", "Choose another one.")
    if isinstance(error, StrangeAnswerError) or _STRANGE.search(text) or page:
        what = str(error) if isinstance(error, StrangeAnswerError) else STRANGE
        return made(
            f"what {where} answered is {what}",
            "See with curl what answers there: a proxy or a login page may be between this host "
            "and the store.",
        )
    if never_sent(error):
        if "ConnectionRefused" in text:
            return made(
                f"{where} refuses connections",
                "Start the server, or correct the endpoint's host and port.",
            )
        return made(
            f"no connection to {where}: "
            + ("its host has no address" if "dns error" in text else "it can't be reached"),
            "Check the endpoint (http:// or https://, host, port) and the network.",
        )
    if not status and not code:
        return made(
            f"{where} gave no answer within {place.timeout:g} s"
            if "TimedOut" in text or "timed out" in text
            else f"{where} ended the connection before its answer was whole, each time",
            "Check the endpoint (http:// or https://, host, port) and the network; the option "
            "hoodoo.cloud.timeout says how long it is tried.",
        )
    return made("the store answered with an error", "Try again; else ask who runs the store.")
