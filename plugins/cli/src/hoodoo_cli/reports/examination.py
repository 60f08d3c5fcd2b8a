"""Doctor: all checks that are installed, one after the other; none can keep the others from
answering."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import asdict, frozen
from hoodoo.errors import HoodooError, HoodooWarning, PluginError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import declared_options, make
from hoodoo.model.findings import Finding, Found
from hoodoo.storage.api import Storage
from hoodoo.table.settings import open_storage, typed_options

from hoodoo_cli.checks.machine import MachineCheck
from hoodoo_cli.checks.plugins import PluginsCheck
from hoodoo_cli.hookspecs.check import Check

# A store is tried for so many seconds, where the options do not say it.
_PATIENCE = {"hoodoo.cloud.timeout": "10"}


@frozen
class Examination:
    """What was found. ``notes`` are facts, ``skipped`` says what could not be looked at, and
    why."""

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def without(self, other: Examination) -> Examination:
        """What ``other`` does not say."""
        return Examination(
            tuple(one for one in self.findings if one not in other.findings),
            tuple(one for one in self.notes if one not in other.notes),
            tuple(one for one in self.skipped if one not in other.skipped),
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ``ok`` among them."""
        return {"ok": self.ok, **asdict(self)}


def examine(
    path: str | None = None,
    options: Mapping[str, str] | None = None,
    engine: str | None = None,
    probe: bool = True,
    environment: bool = True,
) -> Examination:
    """Run all checks: of the environment, and, where there is a ``path``, of the table there.
    ``engine``: the one that is to be used. ``probe``: files may be written to the table's
    ``.hoodie/.hoodoo``, and are deleted again. Without ``environment``, the table alone."""
    given = dict(options or {})
    parts: list[Found] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HoodooWarning)  # they are findings here
        try:
            offers = kernel().offers("check")
        except PluginError:  # the check of plugins says why
            first: dict[str, Check] = {"plugins": PluginsCheck(), "machine": MachineCheck()}
            parts += [_asked(name, one.environment, engine) for name, one in first.items()]
            parts.append(Found(skipped=("all other checks: the plugins can't be loaded together",)))
            return _joined(parts)
        checks = {}
        for offer in offers:
            try:
                checks[offer.name] = make(offer, Settings(options=given))
            except HoodooError as error:
                parts.append(_failed(offer.name, error))
        if environment:
            parts += [_asked(name, one.environment, engine) for name, one in checks.items()]
        if path is not None:
            storage = _opened(path, given)
            if isinstance(storage, Found):
                parts.append(storage)
            else:
                parts += [_asked(name, one.table, storage, probe) for name, one in checks.items()]
    return _joined(parts)


def _opened(path: str, options: Mapping[str, str]) -> Storage | Found:
    """The store, which has answered once; or why it can't be had."""
    declared = {option.key for option in declared_options()}
    patience = {key: value for key, value in _PATIENCE.items() if key in declared}
    try:
        storage = open_storage(path, {**patience, **typed_options(options)})
        storage.list(".hoodie")
    except HoodooError as error:
        finding = Finding("table.store", error.obj, error.rule.rstrip("."), _fix(error))
        return Found((finding,), skipped=("the table: its store does not answer",))
    return storage


def _asked(name: str, ask: Callable[..., Found], *arguments: Any) -> Found:
    try:
        return ask(*arguments)
    except HoodooError as error:
        return _failed(name, error)
    except Exception as error:
        finding = Finding(
            f"{name}.failed",
            f"check {name!r}",
            f"it failed: {type(error).__name__}: {error}",
            "Report this to whoever maintains the check; the other checks have run.",
        )
        return Found((finding,))


def _failed(name: str, error: HoodooError) -> Found:
    return Found((Finding(f"{name}.failed", error.obj, error.rule.rstrip("."), _fix(error)),))


def _fix(error: HoodooError) -> str:
    return error.fix or "Correct what the sentence names."


def _joined(parts: Iterable[Found]) -> Examination:
    """All of them; a fault that several checks see is said once."""
    parts = list(parts)
    findings: dict[tuple[str, str], Finding] = {}
    for part in parts:
        for one in part.findings:
            findings.setdefault((one.obj, one.rule), one)
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    skipped = tuple(dict.fromkeys(said for part in parts for said in part.skipped))
    return Examination(tuple(findings.values()), notes, skipped)
