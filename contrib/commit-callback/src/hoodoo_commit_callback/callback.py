"""Commit callback: a participant that posts each commit of its writer to a URL, once it is
durable."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from attrs import define, field
from hoodoo.errors import ConfigError, warn
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.participant import ActionChange, RebuildRequest
from hoodoo.model.commit import CommitMetadata, WriteStat
from hoodoo.model.instant import Instant
from hoodoo.storage.api import Storage
from hoodoo.timeline.timeline import Timeline

from hoodoo_commit_callback.plugin import HEADERS, KEY, ON, TIMEOUT, URL


@define
class CommitCallback:
    """Implements :class:`~hoodoo.hookspecs.participant.Participant` and its Participation.

    ``headers``: of each call; ``url`` is empty where no URL is called. ``begun``: requested times
    of actions of this writer that are not seen as completed yet.
    """

    url: str
    timeout: int
    headers: Mapping[str, str]
    begun: set[str] = field(factory=set)

    @classmethod
    def from_settings(cls, settings: Settings) -> CommitCallback:
        given = settings.options
        url = URL.stored(given) or ""
        if not ON.read(given):
            return cls("", 0, {})
        if not url.startswith(("http://", "https://")):
            raise ConfigError(
                f"option {URL.key}",
                f"is {url or 'not set'}, and {ON.key} needs an HTTP URL.",
                f"Set it to http://... or https://..., or set {ON.key}=false.",
            )
        key = {"HUDI-CALLBACK-KEY": KEY.read(given) or "", "Content-Type": "application/json"}
        return cls(url, TIMEOUT.read(given) or 3, {**key, **_headers(HEADERS.stored(given) or "")})

    # --- taking part ------------------------------------------------------------------------------
    keys = False
    noted: Mapping[str, str] = {}

    def join(self, storage: Storage, timeline: Timeline) -> CommitCallback | None:
        return self if self.url else None

    def begin(self, change: ActionChange) -> None:
        """Remember the instant: other writers announce the commits that they make."""
        self.begun.add(change.instant.requested)

    def after_action(self, request: RebuildRequest, timeline: Timeline) -> tuple[str, ...]:
        """Post each commit of this writer that is completed now. A call that fails is a warning:
        the commit is durable."""
        posted = []
        for instant in timeline.writes():
            if instant.requested in self.begun:
                self.begun.discard(instant.requested)
                commit = timeline.metadata(request.storage, instant)
                self._post(message(commit, instant, timeline.config.name, request.storage.root))
                posted.append(f"posted {instant.requested}")
        return tuple(posted)

    def _post(self, content: Mapping[str, Any]) -> None:
        body = json.dumps(content).encode()
        request = urllib.request.Request(self.url, body, dict(self.headers), method="POST")
        try:
            # An answer of 400 or more raises.
            with urllib.request.urlopen(request, timeout=self.timeout):
                return
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = f"HTTP {error.code}" if isinstance(error, urllib.error.HTTPError) else error
            table, commit = content["tableName"], content["commitTime"]
            warn(f"table {table}: {self.url} did not take commit {commit} ({reason}).")


def _headers(text: str) -> dict[str, str]:
    found = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, colon, value = part.partition(":")
        if not colon or not name.strip():
            raise ConfigError(
                f"option {HEADERS.key}",
                f"has no header in {part!r}.",
                "Write Name:Value;Name:Value.",
            )
        found[name.strip()] = value.strip()
    return found


def message(commit: CommitMetadata, instant: Instant, name: str, root: str) -> dict[str, Any]:
    """The fields of Hudi's HoodieWriteCommitCallbackMessage."""
    return {
        "commitTime": instant.requested,
        "tableName": name,
        "basePath": root,
        "hoodieWriteStat": [_stat(stat) for stat in commit.stats],
        "commitActionType": instant.action,
        "extraMetadata": dict(commit.extra),
    }


def _stat(stat: WriteStat) -> dict[str, Any]:
    return {
        "fileId": stat.file_id,
        "path": stat.path,
        "prevCommit": stat.prev_commit,
        "numWrites": stat.num_writes,
        "numDeletes": stat.num_deletes,
        "numUpdateWrites": stat.num_updates,
        "numInserts": stat.num_inserts,
        "partitionPath": stat.partition_path,
        "fileSizeInBytes": stat.file_size,
    }
