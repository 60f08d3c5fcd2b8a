"""Tell observers. What they do with it never changes what the action does."""

from __future__ import annotations

import threading
import warnings
import weakref

from hoodoo.errors import HoodooWarning
from hoodoo.hookspecs.observer import Event
from hoodoo.kernel.registry import Kernel, kernel
from hoodoo.log import get_logger

_log = get_logger(__name__)
_lock = threading.Lock()
_complained: weakref.WeakKeyDictionary[Kernel, set[str]] = weakref.WeakKeyDictionary()


def notify(event: Event, *, using: Kernel | None = None) -> None:
    """Call every plugin's ``hoodoo_event`` in the order of discovery, each on its own.

    A failing observer gives one :class:`~hoodoo.errors.HoodooWarning` per process, then lines in the
    log; it is still told of later events.
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
