"""Options: one declaration a key. What it means, its type, default and bounds, and its other names.

``option``: :class:`Option`, which reads what a user said; ``kinds``: the types; ``judge``: all options of
a call at once. The other modules declare those that core reads, by subject. Plugins declare theirs with
the registrations that read them. Nothing else in the code names a key or reads its text: who needs a
value says ``OPTION.read(options)`` or ``settings.value(OPTION)``.
"""

from __future__ import annotations

from hoodoo.options.kinds import (
    COLUMNS,
    FLAG,
    NAMES,
    TEXT,
    Choice,
    Duration,
    Kind,
    Names,
    Number,
    Pattern,
    PluginName,
    Size,
    Text,
    Whole,
)
from hoodoo.options.option import Option

__all__ = ["COLUMNS", "FLAG", "NAMES", "TEXT", "Choice", "Duration", "Kind", "Names", "Number"]
__all__ += ["Option", "Pattern", "PluginName", "Size", "Text", "Whole"]
