"""Each answer that a store or a broken proxy can give, to each kind of request about each kind of file: what was
acknowledged is there, no row is missing in silence, everything ends, and the message says what came.

Of each answer to each request HOODOO_TRIALS=more draws some trials, HOODOO_TRIALS=all makes all of them.
"""

from __future__ import annotations

import os
import random
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import hoodoo
import pytest
from attrs import evolve, field, frozen
from counted import count
from hoodoo.errors import HoodooError, StorageError
from hoodoo.table.settings import open_storage
from hoodoo_cloud import listing
from shaping import CUT, CUT_AFTER, HALF, Request, Trouble
from small_s3 import Kept, SmallS3, small_s3
from small_tables import created, rows, texts

# How many trials of each table: with HOODOO_TRIALS=all all of them.
COUNT = {"more": 150, "all": None}.get(os.environ.get("HOODOO_TRIALS") or "some", 5)
SEED = os.environ.get("HOODOO_SEED") or str(random.randrange(1 << 32))
# HOODOO_ANSWERS=3/8: the third of eight parts of all trials.
PART, PARTS = map(int, os.environ.get("HOODOO_ANSWERS", "1/1").split("/"))
LONGEST = 100.0  # seconds of one action, each of whose requests may be tried for two
URI = "s3://b/t"
TIMES = {"once": 1, "twice": 2, "always": 10**6}

HTML = b"<html><body>portal</body></html>"
HTML5 = b"<!doctype html><html><head><meta charset=utf-8></head><body>a<br>b</body></html>"
_TYPE = "Content-Type: text/html\r\n"
_TAGGED = f'{_TYPE}ETag: "5d8c72a5-264"\r\nLast-Modified: Mon, 02 Jan 2023 10:00:00 GMT\r\n'


def _page(status: int, body: bytes = HTML, tagged: bool = False) -> Trouble:
    return Trouble(status, body=body, more=_TAGGED if tagged else _TYPE)


# Of every request, before the server has done it.
ANYTHING = {
    "400 RequestTimeout": Trouble(400, "RequestTimeout"),
    "403": Trouble(403, "AccessDenied"),
    "404": Trouble(404, "NoSuchKey"),
    "404, a page": _page(404, HTML5),
    "409 conflict": Trouble(409, "ConditionalRequestConflict"),
    "409 aborted": Trouble(409, "OperationAborted"),
    "409, a page": _page(409, HTML5),
    "412": Trouble(412, "PreconditionFailed"),
    "429": Trouble(429, "TooManyRequests"),
    "500": Trouble(500, "InternalError"),
    "502, a page": _page(502, HTML5),
    "503": Trouble(503, "SlowDown"),
    "504, a page": _page(504, HTML5),
    "307": Trouble(307, "TemporaryRedirect"),
    "200, a page": _page(200),
    "200, a page of the newer form": _page(200, HTML5),
    "200, a page with a tag": _page(200, tagged=True),
    "200, nothing": Trouble(200, body=b""),
    "204": Trouble(204),
    "cut": CUT,
    "half": HALF,
}
WRITES = {
    **ANYTHING,
    **{
        f"{name}, but done": evolve(trouble, after=True)
        for name, trouble in ANYTHING.items()
        if name not in ("cut", "half")
    },
    "cut, but done": CUT_AFTER,
}


def _without_last(body: bytes) -> bytes:
    start, end = body.rfind(b"<Contents>"), body.rfind(b"</Contents>")
    if start < 0:
        return body
    body = body[:start] + body[end + len(b"</Contents>") :]
    return re.sub(b"<IsTruncated>[Ff]alse", b"<IsTruncated>true", body)


def _again(body: bytes) -> bytes:
    body = re.sub(b"<IsTruncated>[Ff]alse</IsTruncated>", b"<IsTruncated>true</IsTruncated>", body)
    token = b"<NextContinuationToken>again</NextContinuationToken></ListBucketResult>"
    return body.replace(b"</ListBucketResult>", token)


LISTS = {
    **ANYTHING,
    "an empty listing": Trouble(edit=lambda body: b"<ListBucketResult></ListBucketResult>"),
    "truncated, without a token": Trouble(edit=_without_last),
    "half of a listing": Trouble(edit=lambda body: body[: len(body) // 2]),
    "a token that loops": Trouble(edit=_again),
}
READS = {**ANYTHING, "a part of the body": Trouble(edit=lambda body: body[: len(body) // 2])}


_FOREIGN = b"<DeleteResult><Error><Key>k</Key><Code>AccessDenied</Code></Error></DeleteResult>"
DELETES = {
    **WRITES,
    "200, denied for one": Trouble(200, each="AccessDenied"),
    "200, an error for one": Trouble(200, each="InternalError"),
    "200, slow down for one": Trouble(200, each="SlowDown"),
    "200, of another object": Trouble(200, body=_FOREIGN),
}
# Kind of request -> the answers to it.
ANSWERS = {"put": WRITES, "list": LISTS, "get": READS, "head": READS, "delete": DELETES}
# Kind of file or folder -> what its names are like.
FILES = {
    "base file": r"^(?!.*\.hoodie/).*\.parquet$",
    "log file": r"^(?!.*\.hoodie/).*\.log\.",
    "marker": r"\.hoodie/\.temp/",
    "requested": r"\.hoodie/timeline/[^/]*\.requested$",
    "inflight": r"\.hoodie/timeline/[^/]*\.inflight$",
    "completed": r"\.hoodie/timeline/\d+_\d+\.",
    "number of the ledger": r"\.hoodoo/ledger/\d+$",
    "mark of the ledger": r"\.hoodoo/ledger/\d+\.done$",
    "heartbeat": r"\.hoodie/\.heartbeat/",
    "properties": r"hoodie\.properties$",
    "partition's file": r"\.hoodie_partition_metadata",
    "metadata table": r"\.hoodie/metadata/",
}
FOLDERS = {
    "the table": r"/t/?$",
    "partition": r"/t/r\d/?$",
    "timeline": r"/t/\.hoodie/timeline/?$",
    "ledger": r"\.hoodoo/ledger/?$",
    "heartbeats": r"\.heartbeat/?$",
    "markers": r"\.hoodie/\.temp",
    "metadata table": r"\.hoodie/metadata",
}


@frozen
class Trial:
    action: str
    request: str
    about: str
    answer: str
    times: str

    @property
    def trouble(self) -> Trouble:
        return ANSWERS[self.request][self.answer]


@frozen
class Rule:
    """The first ``left`` requests of this kind are in trouble."""

    trial: Trial
    left: Iterator[int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "left", iter(range(TIMES[self.trial.times])))

    def __call__(self, request: Request) -> Trouble | None:
        kind, about = _about(request)
        if kind != self.trial.request:
            return None
        if self.trial.about not in _named(kind, about):
            return None
        return self.trial.trouble if next(self.left, None) is not None else None


def _named(kind: str, about: str) -> list[str]:
    """The kinds of files or folders that it is one of."""
    if kind == "delete":
        return ["any"]
    names = FOLDERS if kind == "list" else FILES
    return [name for name, form in names.items() if re.search(form, about)]


def _about(request: Request) -> tuple[str, str]:
    """The kind of a request to S3, and the name of the object or folder that it is about."""
    url = urlsplit(request.target)
    query = parse_qs(url.query, keep_blank_values=True)
    if "list-type" in query:
        return "list", query.get("prefix", [""])[0]
    if request.method in ("DELETE", "POST"):
        return "delete", unquote(url.path)
    return request.method.lower(), unquote(url.path)


def _upsert(table: Any, right: dict[int, str], ts: int) -> dict[int, str]:
    new = {1: f"{ts}", 100 + ts: "new"}
    table.upsert(rows(new, ts))
    return {**right, **new}


def _compact(table: Any, right: dict[int, str], ts: int) -> dict[int, str]:
    table.compact()
    return right


def _cluster(table: Any, right: dict[int, str], ts: int) -> dict[int, str]:
    table.cluster(order="linear", columns="id")
    return right


def _clean(table: Any, right: dict[int, str], ts: int) -> dict[int, str]:
    table.clean(commits_retained=1)
    return right


def _read(table: Any, right: dict[int, str], ts: int) -> dict[int, str]:
    assert texts(table) == right, "rows are missing in silence"
    return right


ACTIONS: dict[str, Callable[[Any, dict[int, str], int], dict[int, str]]] = {
    "upsert": _upsert, "compact": _compact, "cluster": _cluster, "clean": _clean, "read": _read,
}  # fmt: skip
TABLES = {
    "copy on write": ("COPY_ON_WRITE", "false"),
    "merge on read, with metadata": ("MERGE_ON_READ", "true"),
}


def _drawn(stand: Stand, name: str) -> list[Trial]:
    """Of each kind of request that an action sends, every answer: all of them, or those that are drawn."""
    chance, found = random.Random(f"{SEED} {name}"), []
    for action in ACTIONS:
        for request, about in sorted(stand.requests(action)):
            found += [
                Trial(action, request, about, answer, times)
                for answer in ANSWERS[request]
                for times in TIMES
            ]
    chance.shuffle(found)
    return found[PART - 1 :: PARTS][:COUNT]


@frozen
class Stand:
    """Each trial begins with the same objects."""

    store: SmallS3
    options: dict[str, str]
    right: dict[int, str]
    objects: dict[str, Kept]

    @classmethod
    def of(cls, store: SmallS3, name: str) -> Stand:
        kind, metadata = TABLES[name]
        options = {**store.options, "hoodie.metadata.enable": metadata, "hoodoo.cloud.timeout": "2"}
        table, right = created(URI, options, kind), {1: "a", 2: "a"}
        table.upsert(rows(right, 1))
        for ts in range(2, 5):  # something to compact, to cluster and to clean
            right = _upsert(table, right, ts)
        return cls(store, options, right, dict(store.objects))

    def _begin(self, action: str) -> None:
        self.store.rule = None
        self.store.objects.clear()
        self.store.objects.update(self.objects)
        if action == "cluster" and self.options["hoodie.metadata.enable"] == "true":
            hoodoo.open(URI, self.options).compact()  # a slice with log files is left alone

    def requests(self, action: str) -> set[tuple[str, str]]:
        """The kinds of requests that it sends, where nothing is in its way."""
        found = set[tuple[str, str]]()
        if action == "compact" and self.options["hoodie.metadata.enable"] == "false":
            return found
        self._begin(action)

        def note(request: Request) -> None:
            kind, about = _about(request)
            found.update((kind, name) for name in _named(kind, about))

        self.store.rule = note
        ACTIONS[action](hoodoo.open(URI, self.options), self.right, 50)
        self.store.rule = None
        return found

    def tried(self, trial: Trial, number: int) -> bool:
        """Whether there was such a request. Raises AssertionError."""
        store, right, where = self.store, self.right, f"{trial}, seed {SEED}"
        before, outcome = store.troubles, list[Any]()
        self._begin(trial.action)
        # As a new process, which knows nothing of the store; or as one that has just read the table.
        listing.forget()
        if number % 2:
            texts(hoodoo.open(URI, self.options))

        def run() -> None:
            try:
                outcome.append(ACTIONS[trial.action](hoodoo.open(URI, self.options), right, 50))
            except BaseException as error:
                outcome.append(error)

        store.rule = Rule(trial)
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(LONGEST)
        store.rule = None
        assert not thread.is_alive(), f"{where}: it goes on and on"
        met = store.troubles > before
        error = outcome[0] if isinstance(outcome[0], BaseException) else None
        if error is not None and not isinstance(error, HoodooError):
            raise AssertionError(f"{where}: {error!r}") from error
        table: Any = hoodoo.open(URI, self.options)
        try:
            found = texts(table)
        except HoodooError as lost:
            raise AssertionError(f"{where}: {error!r}, and then: {lost}") from lost
        if error is None:
            assert found == outcome[0], f"{where}: acknowledged, and lost"
        else:
            assert met, f"{where}: no trouble, and {error}"
            new = {**right, 1: "50", 150: "new"}
            assert found in (right, new), f"{where}: {error}, and the rows are {found}"
            untrue = trial.trouble.status and "gave no answer" in str(error)
            assert not untrue, f"{where}: an answer came, and the message is {error}"
        if met:
            count(f"{trial.request} answered wrongly")
            if number % 4 == 0:  # the next writer needs no help
                allowed = {**self.options, "hoodie.clustering.updates.strategy": "allow"}
                again: Any = hoodoo.open(URI, allowed)
                again.upsert(rows({2: "b"}, 60))
                assert texts(hoodoo.open(URI, self.options)) == {**found, 2: "b"}, where
                assert not again.verify().findings, where
        return met


@pytest.mark.filterwarnings("ignore::hoodoo.errors.HoodooWarning")
@pytest.mark.trial
@pytest.mark.parametrize("name", TABLES)
def test_each_answer_to_each_request(name: str) -> None:
    met = 0
    with small_s3() as store:
        stand = Stand.of(store, name)
        for number, trial in enumerate(_drawn(stand, name)):
            met += stand.tried(trial, number)
    assert met


@pytest.fixture
def store() -> Iterator[SmallS3]:
    with small_s3() as found:
        yield found


def _lists(trouble: Trouble, times: int = 10**6) -> Callable[[Request], Trouble | None]:
    left = iter(range(times))

    def rule(request: Request) -> Trouble | None:
        listed = _about(request)[0] == "list"
        return trouble if listed and next(left, None) is not None else None

    return rule


@pytest.mark.parametrize("knows", [True, False], ids=["known", "new process"])
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("200, a page", "a listing without|an empty listing of a folder that is not empty"),
        ("truncated, without a token", "a listing without .*, which is there"),
        ("a token that loops", "a listing that never ends"),
    ],
)
@pytest.mark.sampled(2)
def test_a_listing_that_lacks_what_is_there_is_not_believed(
    store: SmallS3, knows: bool, answer: str, said: str
) -> None:
    """Neither for a table without rows, nor for one without the newest commit; and nobody loops."""
    options = {**store.options, "hoodie.metadata.enable": "false", "hoodoo.cloud.timeout": "1"}
    table = created(URI, options)
    table.upsert(rows({1: "a", 2: "a"}, 1))
    table.upsert(rows({1: "b"}, 2))
    before = dict(store.objects)
    for act in (texts, lambda table: table.upsert(rows({1: "c"}, 3))):
        if not knows:
            listing.forget()
        store.rule = _lists(LISTS[answer])
        with pytest.raises(StorageError, match=said):
            act(hoodoo.open(URI, options))
        store.rule = None
    assert texts(hoodoo.open(URI, options)) == {1: "b", 2: "a"}
    assert {k for k in before if k.endswith((".parquet", "commit"))} <= store.objects.keys()
    # Once: it is looked again, and nothing is said.
    store.rule = _lists(LISTS[answer], times=1)
    assert texts(hoodoo.open(URI, {**options, "hoodoo.cloud.timeout": "20"})) == {1: "b", 2: "a"}


@pytest.mark.sampled(1, among="long")
def test_a_listing_that_ends_with_a_whole_page_is_continued(store: SmallS3) -> None:
    """Or is an error, where the server says that more is there and not how to get it."""
    found: Any = open_storage(URI, {**store.options, "hoodoo.cloud.timeout": "1"})
    for number in range(1100):
        store.objects[f"t/d/{number:04d}"] = Kept(b"1", {}, 0.0, '"x"')
    assert len(found.list("d")) == 1100

    def cut(body: bytes) -> bytes:
        return re.sub(b"<NextContinuationToken>.*?</NextContinuationToken>", b"", body)

    for recursive in (False, True):
        listing.forget()
        store.rule = lambda request: Trouble(edit=cut)
        with pytest.raises(StorageError, match="a listing that ends before its end"):
            found.list("d", recursive)
        store.rule = None
        assert len(found.list("d", recursive)) == 1100
    for number in range(1000, 1100):  # one whole page, and no more
        del store.objects[f"t/d/{number:04d}"]
    assert len(found.list("d")) == 1000


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("200, denied for one", "access is denied .*AccessDenied"),
        ("200, an error for one", "answered with an error .*InternalError"),
        ("200, a page", "not an answer of a store"),
        ("200, of another object", "not an answer of a store|access is denied"),
    ],
)
@pytest.mark.sampled(2)
def test_what_a_store_did_not_delete_is_said(store: SmallS3, answer: str, said: str) -> None:
    found: Any = open_storage(URI, {**store.options, "hoodoo.cloud.timeout": "1"})
    found.put("d/x", b"1")
    for call in (lambda: found.discard(["d/x"]), lambda: found.delete_prefix("d"), lambda: found.delete("d/x")):  # fmt: skip
        store.rule = lambda request: (
            DELETES[answer] if request.method in ("POST", "DELETE") else None
        )
        with pytest.raises(StorageError, match=said):
            call()
        store.rule = None
        assert found.get("d/x") == b"1"
    once = iter([DELETES["200, an error for one"]])
    store.rule = lambda request: next(once, None) if request.method == "POST" else None
    found.discard(["d/x"])
    assert found.head("d/x") is None


def _next(left: Iterator[Trouble], request: Request) -> Trouble | None:
    return next(left, None)


@pytest.mark.parametrize("answer", [name for name in WRITES if name.endswith("but done")])
@pytest.mark.parametrize("times", ["once", "always"])
@pytest.mark.sampled(1)
def test_what_was_carried_out_is_ours_whatever_the_answer_was(
    store: SmallS3, answer: str, times: str
) -> None:
    """Else a decision would stand whose files its writer takes away."""
    found: Any = open_storage(URI, {**store.options, "hoodoo.cloud.timeout": "0.5"})
    found.put("warm", b"1")
    left = iter(range(TIMES[times]))
    store.rule = lambda request: (
        WRITES[answer] if request.method == "PUT" and next(left, None) is not None else None
    )
    assert found.put_if_absent("x", b"1") is True


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("answer", ["400 RequestTimeout", "409 aborted", "200, a page with a tag"])
def test_a_request_that_was_not_carried_out_is_sent_again(store: SmallS3, answer: str) -> None:
    found: Any = open_storage(URI, {**store.options, "hoodoo.cloud.timeout": "30"})
    found.put("warm", b"1")
    calls: list[Callable[[], Any]] = [
        lambda: found.put("x", b"1"),
        lambda: found.put_if_absent("y", b"1"),
        lambda: found.get("x"),
        lambda: found.head("x"),
        lambda: found.list(),
        lambda: found.discard(["x"]),
    ]
    for call in calls:
        left = iter([WRITES[answer]] * 2)
        store.rule = partial(_next, left)
        before = store.troubles
        call()
        assert store.troubles == before + 2
    store.rule = None
    assert [entry.path for entry in found.list()] == ["warm", "y"]
