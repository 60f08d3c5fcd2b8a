"""What formats of change data logs answer."""

from __future__ import annotations

from typing import Any

from hoodoo.hookspecs.change_log import ChangeLog
from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.seam import Ask, Kind, wrapped
from hoodoo.kernel.answers.wrong import Wrong, says


def _begin(answer: Any, ask: Ask, *args: Any) -> Any:
    if not isinstance(answer, ChangeLog):
        raise Wrong(says(answer), "a ChangeLog")
    return wrapped(LOG, answer, ask.who)


FORMAT = Kind("change_log", methods={"begin": _begin}, travels=True)
LOG = Kind(
    "change_log_of_rewrite",
    methods={
        "inserted": None,
        "updated": None,
        "deleted": None,
        "close": lambda answer, ask: shapes.whole(answer, 0),
        "abandon": None,
    },
)
