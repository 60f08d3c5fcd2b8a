"""The configuration of an ingestion: a file in TOML, or a mapping of the same form."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from attrs import field, frozen
from hoodoo.calls import nearest
from hoodoo.errors import ConfigError
from hoodoo.kernel.resolve import resolve

from hoodoo_ingest import kinds
from hoodoo_ingest.checkpoint import DEFAULT_NAME
from hoodoo_ingest.hookspecs.source import Key, Source

OPERATIONS = ("upsert", "insert", "append", "bulk_insert", "delete")
REFUSE, ASIDE = "refuse", "aside"
SECTIONS: Mapping[str, Mapping[str, Key]] = {
    "table": {
        "path": Key(kinds.text, "The directory or URI of the table.", required=True),
        "name": Key(kinds.text, "The name of a new table; by default that of its folder."),
        "record_key": Key(kinds.names, "The columns that identify a row."),
        "partition_by": Key(kinds.names, "The columns of the partition path."),
        "ordering": Key(kinds.names, "The columns that decide which of two rows is newer."),
        "type": Key(kinds.text, "cow (copy on write, the default) or mor."),
        "version": Key(kinds.whole, "The table version: 9 (the default), 8 or 6."),
        "index": Key(kinds.text, "The index, such as record_index."),
        "options": Key(kinds.pairs, "Options of hoodoo.create and hoodoo.open.", {}),
    },
    "schema": {
        "file": Key(kinds.text, "An Avro schema (.avsc): the columns of the source.", required=True)
    },
    "transform": {
        "sql": Key(kinds.text, "A SELECT; the rows that came are source.", required=True)
    },
    "run": {
        "name": Key(
            kinds.text,
            "The name of the ingestion. Another name begins at the start.",
            DEFAULT_NAME,
        ),
        "operation": Key(kinds.one_of(*OPERATIONS), ", ".join(OPERATIONS) + ".", "upsert"),
        "engine": Key(kinds.one_of("local", "spark"), "local or spark."),
        "continuous": Key(kinds.flag, "Wait for new data, until it is stopped.", False),
        "every": Key(kinds.seconds, "Seconds between two rounds, if continuous.", 60.0),
        "rounds": Key(kinds.whole, "End after so many commits."),
        "retries": Key(kinds.count, "How often a round that lost a conflict is repeated.", 3),
        "add_columns": Key(kinds.flag, "Columns that the table lacks become its columns.", False),
    },
    "errors": {
        "bad_rows": Key(
            kinds.one_of(REFUSE, ASIDE),
            "Rows that can't be read: refuse ends the ingestion, aside writes them to folder.",
            REFUSE,
        ),
        "folder": Key(kinds.text, "The directory or URI for bad rows."),
        "limit": Key(kinds.whole, "More bad rows in one round end the ingestion.", 10_000),
    },
}
_VARIABLE = re.compile(r"\$\{(\w+)\}")


@frozen
class Config:
    """What a configuration says. ``kind``: the source's; ``source``: what is said of it.
    ``sections``: a value for each key of each section. ``spark``: of the session."""

    kind: str
    plugin: Source
    source: Mapping[str, Any] = field(repr=False)  # secrets may be in these
    sections: Mapping[str, Mapping[str, Any]] = field(repr=False)
    spark: Mapping[str, str] = field(repr=False)
    where: str
    written: Mapping[str, Any] = field(repr=False)  # as it is in the file

    @property
    def path(self) -> str:
        """Of the table."""
        return str(self.sections["table"]["path"])

    @property
    def run(self) -> Mapping[str, Any]:
        return self.sections["run"]

    @property
    def options(self) -> Mapping[str, str]:
        """Of the table."""
        return dict(self.sections["table"]["options"])

    @property
    def engine(self) -> str | None:
        return self.run["engine"] or self.plugin.engine


def read_config(given: str | os.PathLike[str] | Mapping[str, Any]) -> Config:
    """The configuration of a file, or of a mapping. ConfigError for a file that is none, unknown
    sections and keys, wrong values and those that do not go together; PluginError for a source
    that nobody offers."""
    where = "the configuration" if isinstance(given, Mapping) else str(given)
    written = _loaded(given)
    known = _filled(written, where)
    _check_names(known, ("source", "spark", *SECTIONS), where, "section")
    for name, section in known.items():
        if not isinstance(section, Mapping):
            raise ConfigError(f"{name} in {where}", "is no section.", f"Write it as [{name}].")
    source = dict(known.get("source", {}))
    kind = source.pop("kind", None)
    if not isinstance(kind, str):
        raise ConfigError(
            f"section [source] of {where}",
            "does not say what the source is.",
            'Give kind = "files" or kind = "kafka".',
        )
    plugin: Source = resolve("source", kind).instance
    sections = {
        name: _section(name, known.get(name), keys, where, written)
        for name, keys in SECTIONS.items()
    }
    read = _section("source", source, plugin.keys, where, written)
    session = {"c": Key(kinds.pairs, "")}
    as_written = {"spark": {"c": written.get("spark")}}
    spark = _section("spark", {"c": known.get("spark", {})}, session, where, as_written)
    found = Config(kind, plugin, read, sections, spark["c"], where, written)
    _check(found)
    return found


def _loaded(given: str | os.PathLike[str] | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(given, Mapping):
        return given
    toml = _toml()
    try:
        return toml.loads(Path(given).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"file {given}", f"can't be read ({error}).", "Check the path.") from None
    except toml.TOMLDecodeError as error:
        raise ConfigError(
            f"file {given}", f"is no TOML: {error}.", "Put texts in quotes; see docs/ingest.md."
        ) from None


def _toml() -> Any:
    """The module of Python 3.11, or the same as a package of its own, if it is installed."""
    for name in ("tomllib", "tomli"):
        try:
            return import_module(name)
        except ImportError:
            continue
    raise ConfigError(
        "configuration",
        "is read by Python 3.11 or newer.",
        "Install tomli (pip install tomli), or give hoodoo.ingest a mapping.",
    )


def _filled(value: Any, where: str) -> Any:
    """``value`` with environment variables in place of ``${NAME}``: no secret needs to be in a
    file."""
    if isinstance(value, Mapping):
        return {key: _filled(one, where) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, where) for one in value]
    if not isinstance(value, str):
        return value
    for name in _VARIABLE.findall(value):
        if name not in os.environ:
            raise ConfigError(
                f"${{{name}}} in {where}",
                "is no environment variable.",
                f"Set {name} before you start hoodoo ingest.",
            )
    if not _VARIABLE.search(value):
        return value
    found = kinds.Filled(_VARIABLE.sub(lambda match: os.environ[match[1]], value))
    found.written = value
    return found


def _check_names(given: Mapping[str, Any], known: Any, where: str, what: str) -> None:
    for name in given:
        if name not in known:
            near = nearest(name, known)
            meant = f"Did you mean {near!r}? " if near else ""
            raise ConfigError(
                f"{what} {name!r} in {where}",
                "is not known.",
                f"{meant}It takes {', '.join(known)}.",
            )


def _section(
    name: str,
    given: Mapping[str, Any] | None,
    keys: Mapping[str, Key],
    where: str,
    written: Mapping[str, Any],
) -> dict[str, Any]:
    """A value for each key. A section that is left out needs no key. Errors show what is
    ``written``, where secrets still are names of variables."""
    _check_names(given or {}, keys, f"section [{name}] of {where}", "key")
    found = {}
    for key, what in keys.items():
        if given is None or key not in given:
            if what.required and (given is not None or name in ("table", "source")):
                raise ConfigError(
                    f"section [{name}] of {where}", f"lacks {key}.", f"Give {key}: {what.about}"
                )
            found[key] = what.default
            continue
        try:
            found[key] = what.kind(given[key])
        except ValueError as error:
            raise ConfigError(
                f"{key} = {written[name][key]!r} in section [{name}] of {where}",
                f"{error}.",
                what.about,
            ) from None
    return found


def _check(config: Config) -> None:
    errors, run = config.sections["errors"], config.run
    if (errors["bad_rows"] == ASIDE) != (errors["folder"] is not None):
        raise ConfigError(
            f"section [errors] of {config.where}",
            "has one of bad_rows and folder without the other.",
            'Give bad_rows = "aside" and folder, or neither.',
        )
    if config.plugin.engine is not None and run["engine"] not in (None, config.plugin.engine):
        raise ConfigError(
            f"engine = {run['engine']!r} in section [run] of {config.where}",
            f"can't read the source {config.kind}.",
            f'Leave it out, or give engine = "{config.plugin.engine}".',
        )
