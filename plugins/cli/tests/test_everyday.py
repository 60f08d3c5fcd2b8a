"""The commands of every day: rows, columns, properties; in a terminal of 80 columns, to a pipe, as JSON."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.kernel.registry import kernel
from hoodoo_cli.commandline.app import Listed
from table_makers import KINDS, SCHEMA, Run, create, rows, said, trips

pytestmark = pytest.mark.sampled(4)

DAILY = (
    "schema", "head", "count", "properties", "create", "import", "export", "sql", "convert", "diff", "history", "watch",
    "inspect",
)  # fmt: skip
COMMANDS = [
    offer for offer in kernel().offers("command") if offer.plugin.distribution.startswith("hoodoo")
]
READERS = (
    ("schema",), ("head",), ("head", "--output", "csv"), ("count",), ("properties",), ("diff", "earliest"),
    ("history", "1"), ("watch", "--for", "0"),
)  # fmt: skip


@pytest.fixture(params=KINDS)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> hoodoo.Table:
    return trips(tmp_path / "trips", request.param)


# --- what is true of each -------------------------------------------------------------------------
@pytest.mark.parametrize("name", DAILY)
def test_help_has_an_example_and_fits(run: Run, name: str) -> None:
    code, out, _ = run(name, "--help")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "--json" in out and "--option" in out


@pytest.mark.parametrize("offer", COMMANDS, ids=lambda offer: offer.name)
def test_each_example_can_be_pasted(run: Run, offer: Any) -> None:
    """Every command has one; it is on a line of its own in a terminal of 80 columns, and the command accepts it."""
    code, out, _ = run(offer.name, "--help")
    assert code == 0 and max(map(len, out.splitlines())) <= 80
    examples = re.findall(r"^ Example: hoodoo (.*?) *$", out, re.M)
    assert examples and len(examples) == out.count("Example")
    for example in examples:
        name, *arguments = shlex.split(example)
        assert name == offer.name
        # It raises a usage error for what it does not know.
        Listed(offer).load().make_context(name, arguments)


def test_pages_show_commands_and_options_that_exist() -> None:
    """In README and docs; the page of the command line also shows commands of its readers."""
    accepted = {
        offer.name: {
            name
            for one in Listed(offer).load().params
            for name in ("--help", *one.opts, *one.secondary_opts)
        }
        for offer in COMMANDS
    }
    repo, wrong, seen = Path(__file__).parents[3], [], set()
    for page in (repo / "README.md", *sorted((repo / "docs").rglob("*.md"))):
        for found in re.finditer(
            r"(?:`|^\$ |^)hoodoo ([a-z-]+)([^`\n|#]*)", page.read_text("utf-8"), re.M
        ):
            name, rest = found.groups()
            if name in ("retention", "cities") or name.startswith(
                "-"
            ):  # of other distributions; of hoodoo itself
                continue
            seen.add(name)
            options = re.findall(r"(?<=\s)--?[a-z][\w-]*", rest)
            lacking = [one for one in options if one not in accepted.get(name, ())]
            if name not in accepted or lacking:
                wrong.append(f"{page.name}: {found[0]}")
    assert not wrong
    assert seen == set(accepted), "each command is on a page"


@pytest.mark.parametrize("offer", COMMANDS, ids=lambda offer: offer.name)
def test_help_is_broken_where_the_terminal_ends(run: Run, offer: Any) -> None:
    """And not where lines of the docstring end: no line is short before another one of its paragraph."""
    _, out, _ = run(offer.name, "--help")
    text = out.partition("╭")[0]
    for paragraph in re.split(r"\n *\n", text):
        lines = [line.strip() for line in paragraph.strip().splitlines()]
        for line, following in zip(lines, lines[1:], strict=False):
            assert len(line) + 1 + len(following.split()[0]) > 78, line


def test_the_examples_are_commands() -> None:
    assert {offer.name for offer in kernel().offers("command")} >= {*DAILY}


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_there_is_no_table(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    code, out, err = run(command[0], tmp_path / "nothing", *command[1:])
    assert (code, out) == (2, "")
    assert "there is no .hoodie directory" in err and err.count("\n") == 1


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_an_empty_table(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    create(tmp_path / "trips", "mor9")
    code, _, err = run(command[0], tmp_path / "trips", *command[1:])
    assert (code, err) == (1 if command[0] == "history" else 0, "")


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_each_fits_in_80_columns(run: Run, table: hoodoo.Table, command: tuple[str, ...]) -> None:
    code, out, err = run(command[0], table.path, *command[1:])
    assert (code, err) == (0, "")
    if command[0] != "properties":  # whole lines, for grep
        assert max(map(len, out.splitlines())) <= 80


def test_to_a_pipe_lines_are_plain(tmp_path: Path) -> None:
    trips(tmp_path / "trips", "cow9")
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(
        [sys.executable, "-c", "from hoodoo_cli.commandline import main; main()", "head", str(tmp_path / "trips")],
        capture_output=True, text=True, env={**environment, "FORCE_COLOR": ""}, check=True,
    )  # fmt: skip
    assert "\x1b" not in done.stdout and done.stderr == ""
    assert len(done.stdout.splitlines()) == 10


@pytest.mark.parametrize("name", ["head", "count"])
def test_wrong_conditions_are_one_sentence(run: Run, tmp_path: Path, name: str) -> None:
    trips(tmp_path / "trips", "cow9")
    code, out, err = run(name, tmp_path / "trips", "--where", "town = 'oslo'")
    assert (code, out) == (2, "") and "town" in err and "Traceback" not in err
    code, _, err = run(name, tmp_path / "trips", "--as-of", "yesterday")
    assert code == 2 and "point in time" in err


# --- schema ---------------------------------------------------------------------------------------
def test_schema(run: Run, table: hoodoo.Table) -> None:
    _, out, _ = run("schema", table.path)
    assert [line.split() for line in out.splitlines()] == [
        ["column", "type", "role"],
        ["id", "int64", "key"],
        ["city", "string", "partition"],
        ["fare", "double"],
        ["ts", "int64", "ordering"],
    ]
    found = said(run("schema", table.path, "--json"))
    assert found["record_key"] == ["id"] and found["columns"][3]["roles"] == ["ordering"]
    names = [row["name"] for row in said(run("schema", table.path, "--meta", "--json"))["columns"]]
    assert names[:4] == SCHEMA.names
    assert "_hoodie_commit_time" in names  # also where virtual keys leave it null
    avro = json.loads(run("schema", table.path, "--avro")[1])
    assert [field["name"] for field in avro["fields"]] == SCHEMA.names


def test_schema_of_the_past(run: Run, tmp_path: Path) -> None:
    table = trips(tmp_path / "trips", "cow9")
    first = table.timeline().writes()[0].requested
    table.alter(add={"note": "string"})
    assert "note" in run("schema", table.path)[1]
    assert "note" not in run("schema", table.path, "--as-of", first)[1]


# --- head, count ----------------------------------------------------------------------------------
def test_head(run: Run, table: hoodoo.Table) -> None:
    found = said(run("head", table.path, "-n", 2, "--columns", "city,id", "--json"))
    assert len(found) == 2 and list(found[0]) == ["city", "id"]
    found = said(run("head", table.path, "--where", "id = 3", "--json"))
    assert found == [{"id": 3, "city": "rome", "fare": 1.5, "ts": 2}]
    first = table.timeline().writes()[0].requested
    found = said(run("head", table.path, "--where", "id = 3", "--as-of", first, "--json"))
    assert found[0]["ts"] == 1
    assert said(run("head", table.path, "-n", 0, "--json")) == []


def test_head_in_other_forms(run: Run, tmp_path: Path) -> None:
    table = trips(tmp_path / "trips", "cow9")
    _, out, _ = run("head", table.path, "--where", "id < 2", "--output", "csv")
    assert sorted(out.splitlines()) == ['"id","city","fare","ts"', '0,"oslo",0,2', '1,"rome",0.5,2']
    _, out, _ = run("head", table.path, "--where", "id < 2", "--output", "jsonl")
    assert sorted(json.loads(line)["id"] for line in out.splitlines()) == [0, 1]
    file = tmp_path / "some.parquet"
    code, out, err = run("head", table.path, "--output", file)
    assert (code, out) == (0, "") and "9 rows in" in err
    assert pq.read_table(file).num_rows == 9
    code, _, err = run("head", table.path, "--output", file)
    assert code == 2 and "exists already" in err
    code, _, err = run("head", table.path, "--json", "--output", "csv")
    assert code == 2 and "--json" in err


def test_wide_rows_become_blocks(run: Run, tmp_path: Path) -> None:
    """Where columns do not fit beside each other, each value stays whole; in a line, long ones end with dots."""
    text = "word " * 30 + "x" * 120
    table = hoodoo.create(
        str(tmp_path / "t"),
        pa.schema([("id", pa.int64()), ("a", pa.string()), ("b", pa.string())]),
        record_key="id",
    )
    table.upsert([{"id": 1, "a": text, "b": text}])
    _, out, _ = run("head", table.path, "--columns", "id,a")
    assert out.splitlines()[1].endswith("...")
    _, out, _ = run("head", table.path)
    assert max(map(len, out.splitlines())) <= 80
    assert "".join(out.split()).count("x") == 240
    assert said(run("head", table.path, "--json")) == [{"id": 1, "a": text, "b": text}]


def test_values_of_all_types(run: Run, tmp_path: Path) -> None:
    import datetime
    import decimal

    schema = pa.schema(
        [
            ("id", pa.int64()), ("d", pa.decimal128(9, 2)), ("b", pa.binary()), ("f", pa.float64()),
            ("t", pa.timestamp("us", "UTC")), ("m", pa.map_(pa.string(), pa.int64())), ("l", pa.list_(pa.string())),
            ("s", pa.struct([("x", pa.date32())])),
        ]
    )  # fmt: skip
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id")
    row = {
        "id": 1, "d": decimal.Decimal("1.50"), "b": b"\x00\xff", "f": float("nan"),
        "t": datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.timezone.utc), "m": [("[red]", 1)], "l": ["a\nb"],
        "s": {"x": datetime.date(2026, 1, 2)},
    }  # fmt: skip
    table.upsert(pa.Table.from_pylist([row], schema))
    assert said(run("head", table.path, "--json")) == [
        {
            "id": 1, "d": "1.50", "b": "AP8=", "f": "NaN", "t": "2026-01-02T03:04:05.000006+00:00", "m": {"[red]": 1},
            "l": ["a\nb"], "s": {"x": "2026-01-02"},
        }
    ]  # fmt: skip
    _, out, _ = run("head", table.path)
    assert "{[red]: 1}" in out and "[a\\nb]" in out


def test_count(run: Run, table: hoodoo.Table) -> None:
    assert run("count", table.path) == (0, "9\n", "")
    assert said(run("count", table.path, "--where", "city = 'oslo'", "--json")) == {"rows": 5}
    first = table.timeline().writes()[0].requested
    for then in (first, "1"):
        assert run("count", table.path, "--as-of", then)[1] == "10\n"
    assert run("count", table.path, "--as-of", -1)[1] == "9\n"
    assert "the table has" in run("count", table.path, "--as-of", 99)[2]


# --- properties -----------------------------------------------------------------------------------
def test_properties(run: Run, table: hoodoo.Table) -> None:
    assert said(run("properties", table.path, "--json")) == dict(table.config.properties)
    _, out, _ = run("properties", table.path)
    stored = dict(line.split("=", 1) for line in out.splitlines())
    assert stored == dict(table.config.properties)
    assert run("properties", table.path, "hoodie.table.name") == (0, "trips\n", "")
    code, _, err = run("properties", table.path, "a.b")
    assert code == 2 and "a.b" in err


# --- watch ----------------------------------------------------------------------------------------
def test_watch(run: Run, tmp_path: Path) -> None:
    table = trips(tmp_path / "trips", "cow9")

    def write() -> None:
        time.sleep(0.3)
        hoodoo.open(table.path).upsert(rows(range(3), 5))

    writer = threading.Thread(target=write)
    writer.start()
    code, out, err = run("watch", table.path, "--for", 4, "--every", 0.05, "--limit", 1)
    writer.join()
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert "delete" in lines[0] and "1 deleted" in lines[0]
    assert lines[-1].endswith("completed  upsert  3 updated")
    assert len(lines) == len(set(lines)) <= 5


def test_watch_as_json(run: Run, tmp_path: Path) -> None:
    table = trips(tmp_path / "trips", "cow6")
    _, out, _ = run("watch", table.path, "--for", 0, "--json")
    assert [json.loads(line)["operation"] for line in out.splitlines()] == [
        "upsert",
        "upsert",
        "delete",
    ]


def test_ctrl_c_ends_watch(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupted)
    create(tmp_path / "trips", "cow9")
    assert run("watch", tmp_path / "trips") == (0, "", "")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals here")
def test_watch_in_a_terminal(tmp_path: Path) -> None:
    table = trips(tmp_path / "trips", "cow9")
    ours, theirs = os.openpty()
    done = subprocess.run(
        [sys.executable, "-c", "from hoodoo_cli.commandline import main; main()", "watch", table.path, "--for", "0"],
        stdout=theirs, check=True, env={**os.environ, "COLUMNS": "80", "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.returncode == 0
    assert "instant" in shown and shown.count("upsert") >= 2 and "\x1b[" in shown


# --- completion -----------------------------------------------------------------------------------
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    program = [
        sys.executable,
        "-c",
        "import sys; sys.argv[0] = 'hoodoo'; from hoodoo_cli.commandline import main; main()",
    ]
    done = subprocess.run(
        [*program, "--show-completion", shell], capture_output=True, text=True, check=False,
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )  # fmt: skip
    assert "_HOODOO_COMPLETE" in done.stdout
    for words, wanted in (("hoodoo prop", "properties"), ("hoodoo head --whe", "--where")):
        done = subprocess.run(
            program, capture_output=True, text=True, check=False,
            env={
                **os.environ, "_HOODOO_COMPLETE": f"complete_{shell}", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")),
                "_TYPER_COMPLETE_ARGS": words, "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            },
        )  # fmt: skip
        assert wanted in done.stdout, done.stderr


# --- real tables ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name",
    [
        "cow_v6_nonpartitioned", "cow_v6_empty", "cow_v6_simplekeygen_hivestyle_no_metafields",
        "cow_v8_simplekeygen_nonhivestyle", "cow_v9_txns_complex_nometa", "mor_avro_v9_txns_simple_meta",
        "mor_avro_v9_txns_nonpart_nometa", "mor_parquet_v6_nonpartitioned",
    ],
)  # fmt: skip
def test_tables_of_hudi(golden: Callable[[str], Path], run: Run, name: str) -> None:
    path = golden(name)
    table = hoodoo.open(str(path))
    wanted = table.read().to_arrow()
    assert run("count", path)[1] == f"{wanted.num_rows}\n"
    assert [
        row["name"] for row in said(run("schema", path, "--json"))["columns"]
    ] == wanted.column_names
    assert len(said(run("head", path, "-n", 3, "--json"))) == min(3, wanted.num_rows)
    assert max(map(len, run("head", path)[1].splitlines())) <= 80
    assert said(run("diff", path, "earliest", "--json"))["added"] == wanted.num_rows
    for file in sorted((path / ".hoodie").rglob("*commit*")):
        if file.suffix != ".crc":
            assert said(run("inspect", file, "--json"))["kind"] == "timeline file"


def test_names_of_options_are_plain(run: Run) -> None:
    """No command says that it says, tells or asks something."""
    for offer in kernel().offers("command"):
        _, out, _ = run(offer.name, "--help")
        assert not re.search(r"\b(told|tells|gone|asked|Say)\b", out), offer.name
