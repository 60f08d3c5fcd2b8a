"""Tell observers. What they do with it never changes what the action does.

:func:`action_events` is put around whatever is done to a table, so that no kind of action can
forget its duration, or that it failed."""

from __future__ import annotations

import threading
import time
import uuid
import warnings
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from hoodoo.errors import HoodooError, HoodooWarning
from hoodoo.hookspecs.observer import Event
from hoodoo.kernel.registry import Kernel, kernel
from hoodoo.log import get_logger
from hoodoo.model.outcome import Figures

_log = get_logger(__name__)
_lock = threading.Lock()
_complained: weakref.WeakKeyDictionary[Kernel, set[str]] = weakref.WeakKeyDictionary()


def notify(event: Event, *, using: Kernel | None = None) -> None:
    """Call every plugin's ``hoodoo_event`` in the order of discovery, each on its own.

    A failing observer gives one :class:`~hoodoo.errors.HoodooWarning` per process, then lines in
    the log; it still gets later events.
    """
    registry = kernel() if using is None else using
    for plugin, implementation in registry.implementations("hoodoo_event"):
        try:
            # pluggy lets an implementation leave out arguments it does not need.
            implementation.function(*(event for _ in implementation.argnames))
        except Exception as exc:
            text = (
                f"observer of {plugin}: it failed at {event.kind!r} of {event.table} with "
                f"{type(exc).__name__}: {exc}. The action is not affected."
            )
            with _lock:
                known = _complained.setdefault(registry, set())
                first = plugin.name not in known
                known.add(plugin.name)
            if first:
                try:
                    warnings.warn(text, HoodooWarning, stacklevel=2)
                except HoodooWarning:  # filters make it an error: an observer still decides nothing
                    _log.warning("observer failed", reason=text)
            else:
                _log.debug("observer failed again", reason=text)


# --- the life of an action ------------------------------------------------------------------------
_current: ContextVar[ActionEvents | None] = ContextVar("hoodoo_action_events", default=None)


class ActionEvents:
    """The events of one run of an action; :func:`action_events` makes it."""

    def __init__(
        self, action: str, table: str, location: str, instant: str, end: str, detail: dict[str, Any]
    ) -> None:
        self.action, self.table, self.location, self.instant = action, table, location, instant
        self.run_id, self.started = uuid.uuid4().hex, False
        self._began, self._end = time.monotonic(), end
        self._figures, self._detail = Figures(), detail
        self._around = _current.get()
        self._taken = self._skipped = False
        self._inside: set[str] = set()  # steps of this action that were reported while it ran
        self._reported: BaseException | None = None  # the error that a run inside has reported

    def step(self, step: str, **detail: Any) -> None:
        """Report one ``step`` before the last."""
        self._tell(step, detail)

    def report(
        self, figures: Figures | None = None, *, instant: str | None = None, **detail: Any
    ) -> None:
        """What the last event of this run will say."""
        self._figures.update(figures or {})
        self._detail.update(detail)
        if instant is not None:
            self.instant = instant

    def skip(self) -> None:
        """There was nothing to do: the run ends as ``skipped``."""
        self._skipped = True

    # --- for action_events ------------------------------------------------------------------------
    def begin(self, quiet: bool) -> None:
        """Report ``started``, unless the run is ``quiet`` or part of a run that has reported it."""
        outer = self._outer()
        if outer is not None and outer.started and not outer._taken:
            # The caller has reported the start: this is the same run.
            outer._taken = self.started = True
            self.run_id, self._began = outer.run_id, outer._began
        elif not quiet:
            self.started = True
            self._tell("started", self._detail)

    def ended(self) -> None:
        """Report the last event, unless a run inside this one has reported it."""
        if self._skipped:
            if self.started and not self._ends_inside():
                self._last("skipped")
        elif self._ends_inside() or self._end in self._inside:
            return
        elif self.started or not self._inside:
            self._last(self._end)

    def failed(self, error: BaseException) -> None:
        """Report ``failed`` with the class and rule of ``error``, once for each error."""
        if self._reported is error:
            return
        rule = error.rule if isinstance(error, HoodooError) else str(error)
        self._last("failed", error=type(error).__name__, rule=rule)
        outer = self._outer()
        while outer is not None:
            outer._reported = error
            outer = outer._outer()

    def _ends_inside(self) -> bool:
        return any(Event(f"a.{step}", "").outcome for step in self._inside)

    def _outer(self) -> ActionEvents | None:
        """The run of the same action on the same table that this one is part of."""
        found = self._around
        while found is not None and (found.action, found.location) != (self.action, self.location):
            found = found._around
        return found

    def _last(self, step: str, **error: str) -> None:
        seconds = time.monotonic() - self._began
        self._tell(step, self._detail, duration=seconds, **self._figures, **error)

    def _tell(self, step: str, detail: Mapping[str, Any], **fields: Any) -> None:
        outer = self._outer()
        while outer is not None:
            outer._inside.add(step)
            outer = outer._outer()
        kind = f"{self.action}.{step}"
        notify(
            Event(
                kind, self.table, self.instant, dict(detail), location=self.location,
                run_id=self.run_id, **fields,
            )
        )  # fmt: skip


@contextmanager
def action_events(
    action: str,
    table: str,
    location: str,
    instant: str = "",
    *,
    end: str = "done",
    quiet: bool = False,
    **detail: Any,
) -> Iterator[ActionEvents]:
    """Report to observers what is done inside: a run of ``action`` on ``table`` at ``location``.

    The first event is ``<action>.started``. The last has the duration and the reported figures:
    ``<action>.<end>``, ``skipped`` if there was nothing to do, or ``failed`` with the error, which
    is raised. All have ``detail``. ``quiet``: no event until something has been done or has failed.

    A run inside a run of the same action (an action that ``table.run`` runs) takes its place: both
    have one ``started`` and one last event, and an error is reported once.
    """
    events = ActionEvents(action, table, location, instant, end, detail)
    events.begin(quiet)
    token = _current.set(events)
    try:
        yield events
    except BaseException as error:
        events.failed(error)
        raise
    else:
        events.ended()
    finally:
        _current.reset(token)


def action_step(
    action: str, step: str, table: str, location: str, instant: str = "", **detail: Any
) -> None:
    """Tell of one ``step`` of ``action``, as part of the run in progress if there is one."""
    found = running(action, location)
    events = ActionEvents(action, table, location, instant, step, {})
    if found is not None:
        events.run_id = found.run_id
    events.step(step, **detail)


def running(action: str, location: str) -> ActionEvents | None:
    """The innermost run of ``action`` on the table at ``location`` that is in progress in this
    thread."""
    found = _current.get()
    while found is not None and (found.action, found.location) != (action, location):
        found = found._around
    return found
