"""A look that others disturb is repeated; one that nobody disturbed is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.errors import CorruptTableError
from hoodoo_services.indexes.steady import LOOKS, steady
from hoodoo_services.outcome import Comparison

NOTHING = pa.table({"record_key": pa.array([], pa.string())})
SOME = pa.table({"record_key": ["k"]})
GOOD, WRONG = Comparison((1, 1), NOTHING), Comparison((1, 1), SOME)
STALE = Comparison((1, 1), NOTHING, SOME)


class World:
    """A table with so many writes; each look may find one more."""

    def __init__(self, *answers: Comparison | Exception, moves: bool = True) -> None:
        self.answers, self.moves, self.writes, self.looks = list(answers), moves, 1, 0

    def look(self) -> Any:
        self.writes += self.moves
        return self.target()

    def target(self) -> Any:
        done = [SimpleNamespace(requested=str(n)) for n in range(self.writes)]
        return SimpleNamespace(timeline=SimpleNamespace(writes=lambda: done))

    def judge(self, target: Any) -> Comparison:
        self.looks += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def run(self) -> Comparison:
        return steady(self.target(), self.look, self.judge)


CORRUPT = CorruptTableError("index", "is wrong.", "Mend it.")


@pytest.mark.parametrize("first", [WRONG, STALE, CORRUPT], ids=["differs", "stale", "raises"])
def test_a_disturbed_look_is_repeated(first: Any) -> None:
    world = World(first, GOOD)
    assert world.run() is GOOD
    assert world.looks == 2


@pytest.mark.parametrize("answer", [WRONG, STALE])
def test_what_is_wrong_in_a_table_at_rest_is_said_at_once(answer: Comparison) -> None:
    world = World(answer, GOOD, moves=False)
    assert world.run() is answer
    assert world.looks == 1


def test_what_stays_wrong_is_said() -> None:
    world = World(WRONG)
    assert world.run() is WRONG
    assert world.looks == LOOKS


def test_an_error_that_stays_is_raised() -> None:
    world = World(CORRUPT)
    with pytest.raises(CorruptTableError):
        world.run()
    assert world.looks == LOOKS
    at_rest = World(CORRUPT, moves=False)
    with pytest.raises(CorruptTableError):
        at_rest.run()
    assert at_rest.looks == 1
