"""Discover, order and call plugins. This room knows no table format.

``kernel()`` is the process's registry, built at the first call; ``resolve`` turns a name or an
object into a working plugin, ``notify`` tells the observers, ``action_events`` tells them of all
that an action does, and ``check_options`` judges user options."""

from __future__ import annotations

from hoodoo.kernel.events import action_events, action_step, notify
from hoodoo.kernel.options import check as check_options
from hoodoo.kernel.registry import Kernel, Offer, kernel
from hoodoo.kernel.resolve import Resolved, declared_options, resolve

__all__ = ["Kernel", "Offer", "Resolved", "action_events", "action_step", "check_options"]
__all__ += ["declared_options", "kernel", "notify", "resolve"]
