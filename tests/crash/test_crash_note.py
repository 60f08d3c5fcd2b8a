"""A process that ends when it notes what replacecommits replaced: its write has landed, and the note is the one before,
the new one, or a torn one, which counts as none."""

from __future__ import annotations

from pathlib import Path

import pytest
from crash_trials import (
    COUNT,
    OPERATIONS,
    WHEN,
    build,
    check_next_write,
    copied,
    crash,
    opened,
    prepared,
    rows,
    state,
    step,
)
from hoodoo.timeline import replaced, replaced_note


def forget() -> None:
    """What a new process does not know."""
    replaced._seen.clear()
    replaced_note._known.clear()


@pytest.mark.parametrize("earlier", [1, 3])
@pytest.mark.parametrize(
    "name", ["insert_overwrite", "insert_overwrite_table", "delete_partitions"]
)
@pytest.mark.parametrize("when", WHEN)
@pytest.mark.sampled(2)
def test_crash_at_the_note(
    tmp_path: Path,
    local_temporaries: Path,
    monkeypatch: pytest.MonkeyPatch,
    when: str,
    name: str,
    earlier: int,
) -> None:
    """``earlier``: replacecommits before, of which the newest is not noted yet."""
    monkeypatch.setattr(replaced_note, "MANY", 0)
    base = build(tmp_path / "base", 9)
    for version in range(earlier):
        opened(base).insert_overwrite(rows({3: "b", 4: "b"}, f"again {version}", 2))
    assert (base / replaced_note.PATH).exists() == (earlier > 1)
    case = prepared(base, tmp_path, OPERATIONS[name])
    at = step(case.mutations, replaced_note.PATH)
    target = copied(base, tmp_path / "trial")
    forget()
    crash(target, case.operation, at, when)
    forget()
    assert state(target) == case.new
    check_next_write(target, case.new, f"{when} the note")
    forget()
    assert not opened(target).verify().findings
    COUNT.trials += 1
