"""What the commands print with."""

from __future__ import annotations

import io
import json

import pytest

pytest.importorskip("typer")

from hoodoo.errors import ConfigError
from hoodoo.model.findings import silent
from hoodoo_cli.toolkit import arguments, show
from rich.console import Console


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "-"),
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.00 KB"),
        (9_994, "9.99 KB"),
        (9_996, "10.0 KB"),
        (99_960, "100 KB"),
        (999_400, "999 KB"),
        (999_600, "1.00 MB"),
        (104_857_600, "105 MB"),
        (1_250_000_000, "1.25 GB"),
        (5 * 10**18, "5000 PB"),
    ],
)
def test_size(number: int | None, text: str) -> None:
    assert show.size(number) == text


def test_counts() -> None:
    assert show.count(1, "file") == "1 file"
    assert show.count(2000, "file") == "2,000 files"
    assert (show.amount(0), show.amount(12345)) == ("", "12,345")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (59, "59 s"),
        (61, "1 min"),
        (7300, "2 h"),
        (180_000, "2 d"),
    ],
)
def test_age(seconds: float, text: str) -> None:
    assert show.age(seconds) == text


def test_how_long_an_instant_took() -> None:
    assert show.took("20250101000000000", "20250101000001500") == "1.5 s"
    assert show.took("20250101000000000", None) == ""
    assert show.took("00000000000000001", "20250101000001500") == ""  # of a metadata table


def test_columns_that_must_not_be_cut_are_not() -> None:
    out = Console(file=io.StringIO(), width=40)
    grid = show.grid("file group", "instant", fold=("file group",))
    grid.add_row(show.text("48aabf85-7bd6-5438-ad73-4471b7b12f05-0"), show.text("2" * 17))
    assert show.room(out, grid) == 40 - 38 - 2 - 17
    assert show.room(Console(file=io.StringIO(), width=80), grid) == 23
    show.put(out, grid)
    said = out.file.getvalue()  # type: ignore[attr-defined]
    assert "2" * 17 in said and "…" in said
    assert max(map(len, said.splitlines())) <= 40


def test_brackets_are_no_markup() -> None:
    out = Console(file=io.StringIO(), width=40)
    show.say(out, "table [bold]x[/bold]")
    assert out.file.getvalue() == "table [bold]x[/bold]\n"  # type: ignore[attr-defined]


def test_where_it_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert show.console().width == 160
    with show.progress() as told:
        assert told is silent
    show.put_json({"a": [1]})
    assert json.loads(capsys.readouterr().out) == {"a": [1]}


def test_an_option_without_a_value() -> None:
    with pytest.raises(ConfigError, match="KEY=VALUE"):
        arguments.opened("nowhere", ["hoodie.clean.policy"])
