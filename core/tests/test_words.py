"""What other libraries call it: names that are not here, and what they lead to are."""

from __future__ import annotations

import hoodoo
import pytest
from hoodoo.calls import elsewhere, nearest, noted
from hoodoo.errors import CallError
from hoodoo.table.table import Table

WORDS = noted("words.txt")


def test_names_are_sorted_into_owners() -> None:
    owners = {name.partition(".")[0].partition(" ")[0] for name in WORDS}
    assert " ".join(sorted(owners)) == (
        "Scan Table alter argument catalog command hoodoo optimize session"
    )
    assert elsewhere("Table", "to_pyarrow_table") == ". Fix: table.to_arrow()."
    assert elsewhere("Table", "wave") == ""


@pytest.mark.parametrize("name", [name for name in WORDS if name.startswith("Table.")])
def test_a_name_is_of_others_alone(name: str) -> None:
    assert not hasattr(Table, name.removeprefix("Table."))


def test_an_error_says_what_it_is_here() -> None:
    table = Table.__new__(Table)
    with pytest.raises(
        AttributeError, match=r"no attribute 'snapshots'\. Fix: table\.history\(\)\."
    ):
        table.snapshots  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(
        AttributeError, match=r"no attribute 'DeltaTable'\. Fix: hoodoo\.open\(path\)\."
    ):
        hoodoo.DeltaTable  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'wave'$"):
        hoodoo.wave  # type: ignore[attr-defined]  # noqa: B018


def test_an_import_and_a_call_say_it_too() -> None:
    with pytest.raises(ImportError, match=r"name 'DeltaTable' from 'hoodoo'\. Fix: hoodoo\.open"):
        from hoodoo import DeltaTable  # type: ignore[attr-defined]  # noqa: F401
    with pytest.raises(ImportError, match=r"cannot import name 'wave' from 'hoodoo' \("):
        from hoodoo import wave  # type: ignore[attr-defined]  # noqa: F401
    with pytest.raises(CallError, match=r"opens no table\. Fix: hoodoo\.open\(path\)"):
        Table("trips")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("given", "names", "found"),
    [
        ("tpi", ["fare", "tip", "trip"], "tip"),
        ("Fare", ["fare"], "fare"),
        ("custmer_id", ["customer_id", "id"], "customer_id"),
        ("amuont", ["amount", "count"], "amount"),
        ("ts", ["id", "tip"], None),
        ("x", ["y"], None),
        ("x", [], None),
    ],
)
def test_the_nearest_name(given: str, names: list[str], found: str | None) -> None:
    assert nearest(given, names) == found
