"""The command line."""

from __future__ import annotations

import errno
import importlib
import json
import os
import re
import socket
import subprocess
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
import typer
from hoodoo import hookimpl
from hoodoo.calls import noted
from hoodoo.errors import HoodooWarning, PluginError
from hoodoo.hookspecs import Registration
from hoodoo.kernel.discover import Plugin, discover
from hoodoo.kernel.registry import Kernel
from hoodoo_cli.commandline import main
from hoodoo_cli.commandline.app import build
from hoodoo_cli.commands.installed import report

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "200")

    def one(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        said = capsys.readouterr()
        code = caught.value.code
        return (code if isinstance(code, int) else 0), said.out, said.err

    return one


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"{hoodoo.__version__}\n", "")


def test_the_number_of_a_commit_is_no_option(run: Run, tmp_path: Path) -> None:
    table = hoodoo.create(tmp_path / "t", [{"id": 1}], record_key="id")
    table.upsert([{"id": 2}])
    code, _, error = run("diff", table.path, "1", "-1")
    assert code == 2 and "Write -- before it: -- -1" in error
    assert run("diff", table.path, "--", "1", "-1")[1].startswith("t: 1 added")
    code, _, error = run("diff", table.path, "1", "--wher", "id = 1")
    assert code == 2 and "No such option: --wher" in error


def test_a_new_table_has_the_arguments_of_python(run: Run, tmp_path: Path) -> None:
    """--type and --version are table_type and table_version there."""
    given = ("--schema", "id bigint", "--table-type", "mor", "--table-version", "8")
    assert run("create", str(tmp_path / "t"), *given)[0] == 0
    config = hoodoo.open(tmp_path / "t").config
    assert (config.table_type, config.version) == ("MERGE_ON_READ", 8)


def test_plugins(run: Run) -> None:
    code, out, _ = run("plugins")
    assert code == 0
    lines = out.splitlines()
    assert "file_format" in lines
    (parquet,) = (line for line in lines if line.startswith("  PARQUET "))
    families = {line: number for number, line in enumerate(lines) if not line.startswith(" ")}
    heading = max((n, line) for line, n in families.items() if n < lines.index(parquet))
    assert heading[1] == "file_format"
    assert "hoodoo-formats" in parquet


def test_observers_are_listed() -> None:
    def hoodoo_event(event: object) -> None:
        """Counts things.

        At length."""

    watches = types.SimpleNamespace(hoodoo_event=hookimpl(hoodoo_event))
    (row,) = report(Kernel([Plugin("a", "a_module", "a-dist", "1.0", watches)]))
    assert (row.family, row.name, row.summary) == ("observer", "a", "Counts things.")


def test_plugins_fit_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run("plugins")
    lines, rows = out.splitlines(), json.loads(run("plugins", "--json")[1])
    assert max(map(len, lines)) <= 80
    assert len(lines) == len(rows) + len({row["family"] for row in rows}) + 1
    for row in rows:
        assert any(line.split()[0] == row["name"] for line in lines)


def test_plugins_of_a_family_or_a_name(run: Run) -> None:
    _, family, _ = run("plugins", "file_format")
    _, name, _ = run("plugins", "parquet")
    block, *others = name.split("\n\n")
    assert "PARQUET  file_format" in block and others, "files, and blocks of log files"
    assert block in family
    assert f"from     hoodoo-formats {hoodoo.__version__}" in family
    assert "hoodie.parquet.compression.codec" in family
    assert json.loads(run("plugins", "parquet", "--json")[1])[0]["family"] == "file_format"
    code, _, err = run("plugins", "file_fromat")
    assert code == 2 and "Did you mean file_format" in err


def test_plugins_as_json(run: Run) -> None:
    code, out, _ = run("plugins", "--json")
    assert code == 0
    rows = json.loads(out)
    assert {"storage", "engine", "file_format"} <= {row["family"] for row in rows}
    (file,) = (row for row in rows if (row["family"], row["name"]) == ("storage", "file"))
    assert file["aliases"] == ["", "local"] and file["distribution"] == "hoodoo-standard"


def test_wrong_usage(run: Run) -> None:
    code, _, err = run("nothing-of-the-kind")
    assert code == 2 and "nothing-of-the-kind" in err


def test_our_errors_are_one_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> None:
        raise PluginError("plugin [x]", "it is broken.", "Repair it.")

    monkeypatch.setattr("hoodoo_cli.commands.plugins.report", failing)
    assert run("plugins") == (2, "", "plugin [x]: it is broken. Fix: Repair it.\n")


def test_warnings_are_one_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def warning() -> list[object]:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("table [x]: look out.", HoodooWarning, stacklevel=1)
        return []

    monkeypatch.setattr("hoodoo_cli.commands.plugins.report", warning)
    code, _, err = run("plugins")
    assert (code, err) == (0, "table [x]: look out.\n")


def test_other_errors_are_bugs_and_show_where(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("hoodoo_cli.commands.plugins.report", failing)
    with pytest.raises(ZeroDivisionError):
        main(["plugins"])


@pytest.mark.parametrize("lacking", ["typer", "rich"])
def test_without_the_extra(run: Run, monkeypatch: pytest.MonkeyPatch, lacking: str) -> None:
    for name in list(sys.modules):
        if name.startswith(("hoodoo_cli.commandline.app", "hoodoo_cli.commands")):
            package, _, own = name.rpartition(".")
            if package in sys.modules:  # its attribute is afterwards this module again, too
                monkeypatch.setattr(sys.modules[package], own, sys.modules[name])
            monkeypatch.delitem(sys.modules, name)
        elif name == lacking or name.startswith(f"{lacking}."):
            monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, lacking, None)
    if lacking == "rich":
        monkeypatch.setitem(sys.modules, "rich.console", None)
    code, out, err = run("plugins")
    assert (code, out) == (2, "")
    assert "hoodoo-cli" in err and lacking in err


# --- subcommands of other distributions -----------------------------------------------------------
@pytest.fixture
def contributed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two subcommands of a plugin: one works, the module of the other can't be imported."""
    module = types.ModuleType("acme")

    def greet(name: str, loud: bool = False) -> None:
        """Greet NAME."""
        print(f"hello {name}{'!' if loud else ''}")

    module.greet = greet  # type: ignore[attr-defined]
    several = typer.Typer()
    several.command("one")(greet)
    several.command("two")(greet)
    module.app = several  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "acme", module)

    @hookimpl
    def hoodoo_commands() -> list[Registration]:
        return [
            Registration("greet", "acme:greet", summary="Greet NAME."),
            Registration("many", "acme:app", summary="Several."),
            Registration("lost", "acme_lost.commands:lost", summary="Nowhere."),
        ]

    module.hoodoo_commands = hoodoo_commands  # type: ignore[attr-defined]
    plugin = Plugin("acme", "acme", "acme-tools", "1.0", module)
    every = Kernel([*discover().plugins, plugin])
    app = importlib.import_module("hoodoo_cli.commandline.app")
    monkeypatch.setattr(app, "kernel", lambda: every)


def test_other_distributions_contribute_subcommands(run: Run, contributed: None) -> None:
    assert run("greet", "you", "--loud") == (0, "hello you!\n", "")
    assert run("many", "two", "you") == (0, "hello you\n", "")
    code, out, _ = run("--help")
    assert code == 0
    for line in ("Greet NAME.", "Several.", "Nowhere."):
        assert line in out
    assert "NAME" in run("greet", "--help")[1].upper()


def test_a_broken_subcommand_is_named_and_the_others_work(run: Run, contributed: None) -> None:
    code, out, err = run("lost")
    assert (code, out) == (2, "")
    assert "command 'lost'" in err and "acme-tools" in err and "acme_lost" in err
    assert run("greet", "you")[0] == 0


def test_a_broken_plugin_is_left_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its hook fails: it is named in a warning, and all other subcommands are there."""
    module = types.ModuleType("acme")

    @hookimpl
    def hoodoo_commands() -> list[Registration]:
        raise ZeroDivisionError

    module.hoodoo_commands = hoodoo_commands  # type: ignore[attr-defined]
    plugin = Plugin("acme", "acme", "acme-tools", "1.0", module)
    every = Kernel([*discover().plugins, plugin], strict=False)
    app = importlib.import_module("hoodoo_cli.commandline.app")
    monkeypatch.setattr(app, "kernel", lambda: every)
    assert "acme-tools" in str(every.broken[0].error)
    assert run("plugins")[0] == 0


@pytest.mark.sampled(1, among="long")
def test_help_imports_no_subcommand() -> None:
    code = (
        "import sys\n"
        "from hoodoo_cli.commandline import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([n for n in sys.modules if n.startswith(('hoodoo_cli.commands.', 'hoodoo.table'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.sampled(1, among="long")
def test_python_runs_the_package_as_the_command() -> None:
    line = [sys.executable, "-m", "hoodoo", "--version"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{hoodoo.__version__}\n", "")


@pytest.mark.sampled(1, among="long")
def test_a_reader_that_has_seen_enough_is_no_problem_of_the_table(tmp_path: Path) -> None:
    """``hoodoo ... | head -1``: the code is that of a broken pipe; 1 would say that something was found."""
    table = hoodoo.create(str(tmp_path / "t"), pa.schema([("id", pa.int64())]), record_key="id")
    table.insert(pa.table({"id": range(50_000)}))
    line = [sys.executable, "-m", "hoodoo", "head", table.path, "-n", "50000", "--output", "json"]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(line, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=120)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_address_in_use_is_one_sentence(run: Run, tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), pa.schema([("id", pa.int64())]), record_key="id")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for command in ("ui", "serve"):
            code, out, err = run(command, table.path, "--port", port)
            assert (code, out) == (2, "") and "Traceback" not in err
            assert "address" in err and "--port" in err, command


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EADDRINUSE, errno.EACCES, errno.EISDIR])
def test_a_fault_of_the_machine_is_one_sentence(
    run: Run, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fails(*_: object) -> None:
        raise OSError(number, os.strerror(number), "there")

    # By its name: tests of lazy imports load it again, and the package still has the older one.
    app = importlib.import_module("hoodoo_cli.commandline.app")
    monkeypatch.setattr(app, "build", lambda: fails)
    code, out, err = run("stats")
    assert (code, out) == (2, "") and err.startswith("file there: can't be used") and "Fix:" in err


def test_commands_of_other_tools_lead_on(run: Run) -> None:
    code, _, err = run("vacuum", "trips")
    assert code == 2 and "No such command 'vacuum'. Fix: hoodoo clean PATH." in err
    assert "No such command 'wave'." in run("wave")[2]


def test_the_commands_that_errors_lead_to_are_there() -> None:
    there = set(typer.main.get_command(build()).commands)  # type: ignore[attr-defined]
    for name, text in noted("words.txt").items():
        assert {found for found in re.findall(r"hoodoo ([a-z-]+) ", text)} <= there, name
        assert name.removeprefix("command.") not in there


def test_every_command_about_a_table_takes_options() -> None:
    commands = typer.main.get_command(build()).commands  # type: ignore[attr-defined]
    about = {name: {p.name for p in one.load().params} for name, one in commands.items()}
    of_tables = {name for name, names in about.items() if "path" in names}
    assert len(of_tables) >= 15
    assert [name for name in sorted(of_tables) if "options" not in about[name]] == []
