"""What this distribution offers, and its options by Hudi's own names
(HoodieWriteCommitCallbackConfig)."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Option, Registration
from hoodoo.options import FLAG, Choice, Text, Whole

_PREFIX = "hoodie.write.commit.callback"
_HTTP = "org.apache.hudi.callback.impl.HoodieWriteCommitHttpCallback"

ON = Option(f"{_PREFIX}.on", "Whether a URL is called after each commit.", "false", kind=FLAG)
CLASS = Option(
    f"{_PREFIX}.class",
    "How it is called: Hudi's Java class for HTTP is the only one that is known.",
    _HTTP,
    kind=Choice(_HTTP),
)
URL = Option(
    f"{_PREFIX}.http.url", "The URL that gets the commit, by HTTP POST.", kind=Text(empty=False)
)
TIMEOUT = Option(
    f"{_PREFIX}.http.timeout.seconds",
    "Seconds after which a call is given up. The writer waits for it.",
    "3",
    kind=Whole(1),
)
KEY = Option(
    f"{_PREFIX}.http.api.key",
    "Sent as the header HUDI-CALLBACK-KEY.",
    "hudi_write_commit_http_callback",
)
HEADERS = Option(
    f"{_PREFIX}.http.custom.headers",
    "Further headers: Name1:Value1;Name2:Value2.",
)


@hookimpl
def hoodoo_participants() -> Iterable[Registration]:
    return [
        Registration(
            "commit_callback",
            "hoodoo_commit_callback.callback:CommitCallback.from_settings",
            options=(ON, CLASS, URL, TIMEOUT, KEY, HEADERS),
            summary="calls a URL after each commit",
        )
    ]
