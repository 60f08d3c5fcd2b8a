"""Options: one declaration a key. What it means, its type, default and bounds, and its other names.

``option``: :class:`Option`, which parses the value of a user; ``kinds``: the types; ``judge``:
checks all options of a call. The other modules declare the options of core, by subject. Plugins
declare their options with the registrations that read them. No other code names a key or parses its
text: code that needs a value calls ``OPTION.read(options)`` or ``settings.value(OPTION)``."""

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
