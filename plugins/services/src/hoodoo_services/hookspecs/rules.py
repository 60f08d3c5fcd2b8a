"""What cleaning policies answer, as far as no type says it."""

from __future__ import annotations

from typing import Any

from hoodoo.kernel.answers import Ask, Wrong, rule, says
from hoodoo.model.instant import Instant

from hoodoo_services.hookspecs.cleaning import History


@rule("CleaningPolicy.earliest")
def _earliest(answer: Any, ask: Ask, history: History) -> Instant | None:
    wanted = "one of history.writes, or None"
    if answer is None:
        return None
    if not isinstance(answer, Instant) or answer not in history.writes:
        raise Wrong(says(answer) if not isinstance(answer, Instant) else str(answer), wanted)
    return answer
