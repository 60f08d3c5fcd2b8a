"""A process that ends, or a store that fails, at any operation of an action on a table with a metadata table.

The table is the old or the new one, for Hoodoo and for `hudi`, which lists from the metadata table, and before
anybody recovers anything; after one more write the metadata table says what the files say, and no key is there
twice.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from crash_runs import chosen, crashes_again, crashes_of, fails
from crash_trials import (
    COUNT,
    SEED,
    WHEN,
    Prepared,
    State,
    age_temporaries,
    copied,
    crash,
    mutations,
    opened,
    prepared,
    rows,
)
from effort import effort
from hoodoo.errors import HoodooError
from hoodoo.table.table import Table
from hoodoo.testing.stores import MUTATING, Crash, CrashingStorage
from metadata_tables import (
    CHANGING,
    KINDS,
    KINDS_6,
    OPERATIONS,
    build,
    cases,
    check_goes_on,
    check_reads,
    check_whole,
    create,
    seen,
    some,
)
from table_life import as_of

pytestmark = pytest.mark.sampled(6, among="crashes")

Made = Callable[[str, str], Path]
# So many operations of an action in one run, other ones in each; or all, before, after and torn.
SAMPLED = effort(1, 12)
ERRORS = effort(1, 5)
RECOVERIES = effort(1, 5)
# Another call of these is something else.
ONCE = frozenset({"insert", "rollback", "rollback_compacted", "restore"})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """``made(kind, name)``: the table that the action ``name`` works on, made once."""
    below = tmp_path_factory.mktemp("metadata")

    def table(kind: str, name: str) -> Path:
        what = name if name in ("rollback_pending", "rollback_compacted") else "plain"
        target = below / f"{kind}-{what}"
        if target.exists():
            return target
        if what == "plain":
            return build(target, kind)
        copied(table(kind, "plain"), target)
        if what == "rollback_compacted":
            opened(target).compact_metadata()
        else:
            _leave(target)
        return target

    return table


def _leave(path: Path) -> None:
    """A write that died with its files and those of the metadata table there, right before its decision."""
    upsert = OPERATIONS["upsert"]
    steps = mutations(path, path.with_name(f"{path.name}-whole"), upsert)
    decision = next(n for n, (_, p) in enumerate(steps, 1) if "/ledger/" in p)
    with pytest.raises(Crash):
        upsert(opened(path, lambda inner: CrashingStorage(inner, decision, "before")))


_CASES: dict[tuple[str, str], Prepared] = {}


def _prepared(made: Made, kind: str, name: str, tmp_path: Path) -> Prepared:
    """Once in a run; all tests of it work on the same table."""
    if (kind, name) not in _CASES:
        base = made(kind, name)
        case = prepared(base, tmp_path, OPERATIONS[name], changes_rows=name in CHANGING)
        check_whole(tmp_path / "whole", "without a crash")
        _CASES[kind, name] = case
    return _CASES[kind, name]


def _between(case: Prepared, name: str) -> set[State]:
    """What readers may meet: of a restore every state between the two, too."""
    points = {case.old, case.new}
    if name == "restore":
        points |= {as_of(case.path, i.requested) for i in opened(case.path).timeline().writes()}
    return points


def _check(case: Prepared, name: str, target: Path, where: str) -> None:
    found = check_reads(target, _between(case, name), where)
    age_temporaries(target)
    check_goes_on(target, found, {found, case.new}, where)
    COUNT.trials += 1


@pytest.mark.parametrize(("name", "kind"), cases())
def test_crash(made: Made, tmp_path: Path, local_temporaries: Path, name: str, kind: str) -> None:
    case = _prepared(made, kind, name, tmp_path)
    chance = random.Random(f"{SEED} {name} {kind}")
    for target, where in crashes_of(case, tmp_path, chance, SAMPLED):
        _check(case, name, target, where)


@pytest.mark.parametrize(("name", "kind"), some("again"))
def test_crash_while_it_is_recovered(
    made: Made, tmp_path: Path, local_temporaries: Path, name: str, kind: str
) -> None:
    """Stop at operation j of the same call once more, after a crash at k."""
    case = _prepared(made, kind, name, tmp_path)
    chance = random.Random(f"{SEED} {name} {kind} again")

    def again(table: Table) -> None:
        if name in ONCE:
            table.rollback()  # undoes what has failed, finishes what was decided
            return
        with suppress(HoodooError):  # it has been done
            case.operation(table)

    for target, _, where in crashes_again(case, tmp_path, chance, RECOVERIES, [again]):
        found = check_reads(target, _between(case, name), where)
        check_goes_on(target, found, {found, case.old, case.new}, where)
        COUNT.trials += 1


@pytest.mark.parametrize(("name", "kind"), some("error"))
def test_error(made: Made, tmp_path: Path, local_temporaries: Path, name: str, kind: str) -> None:
    """A store that fails once or for good, and whose answer was lost or not."""
    case = _prepared(made, kind, name, tmp_path)
    chance = random.Random(f"{SEED} {name} {kind} error")
    for at in chosen(case.steps, chance, ERRORS):
        once, after = chance.choice([True, False]), chance.choice([True, False])
        where = f"once {once}, after {after}, {at}: {case.mutations[at - 1]}, seed {SEED}"
        target = copied(case.path, tmp_path / "trial")
        error = fails(target, case.operation, at, where, once=once, after=after, ops=MUTATING)
        found = check_reads(target, _between(case, name), where)
        assert error is not None or found == case.new, f"{where}: success reported"
        check_goes_on(target, found, {found, case.new}, where)
        COUNT.trials += 1


@pytest.mark.parametrize("kind", KINDS)
def test_crash_of_create(tmp_path: Path, local_temporaries: Path, kind: str) -> None:
    """A table that is there can be opened and written; until its index is made, writes by it say so, or make
    it."""
    # Which operations there are is not known before: the store of a new table can't be wrapped.
    whole = tmp_path / "whole"
    create(whole, kind)
    check_whole(whole, "without a crash")
    before = copied(whole, tmp_path / "before")
    _forget_metadata(before)
    steps = mutations(before, tmp_path / "made", lambda t: t.handle.participants.created())
    chance = random.Random(f"{SEED} create {kind}")
    for at in sorted(chance.sample(range(1, len(steps) + 1), min(len(steps), effort(4, 20)))):
        when = chance.choice(WHEN)
        where = f"{when} operation {at}: {steps[at - 1]}, seed {SEED}"
        target = copied(before, tmp_path / "trial")
        crash(target, lambda t: t.handle.participants.created(), at, when)
        assert check_reads(target, {()}, where) == ()
        age_temporaries(target)
        opened(target).upsert(rows({1: "a", 2: "b"}, "new", 1))
        found = check_reads(target, {((1, "new", "a"), (2, "new", "b"))}, where)
        check_goes_on(target, found, {found}, where)
        COUNT.trials += 1


@pytest.mark.parametrize("kind", [*KINDS, *KINDS_6])
def test_begun_after_it_was_undone(made: Made, tmp_path: Path, kind: str) -> None:
    """A writer that was taken for dead goes on with the metadata table when it is rolled back, and dies then."""
    target = copied(made(kind, "rollback_pending"), tmp_path / "trial")
    (pending,) = opened(target).timeline().pending()
    old = check_reads(target, {seen(target)}, "before")
    metadata = target / ".hoodie" / "metadata"
    found = {file: file.read_bytes() for file in metadata.rglob("*") if file.is_file()}
    assert opened(target).rollback()
    gone = [file for file in found if not file.exists()]
    assert any(pending.requested in file.name and "inflight" in file.name for file in gone)
    for file in gone:
        file.write_bytes(found[file])
    check_reads(target, {old}, "after")
    opened(target).upsert(rows({1: "a"}, "next", 9))
    check_whole(target, "after the next write")
    assert not any(pending.requested in file.name for file in metadata.rglob("*.inflight"))
    COUNT.trials += 1


def _forget_metadata(path: Path) -> None:
    """As if the process had ended when the table's properties were there, and nothing else."""
    import shutil

    from hoodoo.timeline import properties
    from hoodoo_metadata.table.metadata_table import BUILDING, LISTED
    from hoodoo_standard.storage.local import LocalStorage

    storage = LocalStorage(str(path), durable=False)
    config = properties.load(storage)
    listed = config.properties[LISTED]
    properties.update(storage, config, {LISTED: None, BUILDING: listed})
    for folder in (".hoodie/metadata", ".hoodie/timeline", ".hoodie/.hoodoo"):
        shutil.rmtree(path / folder, ignore_errors=True)
    (path / ".hoodie/timeline").mkdir()
