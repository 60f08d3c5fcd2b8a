"""Answers of plugins, checked at one seam: type, schema, length, nulls and range of what each
member answers.

A wrong answer, and an exception that is none of Hoodoo's, is a PluginError that names the family,
the plugin, its distribution, the member, what came and what was wanted. What a plugin raises on
purpose, as an error of :mod:`hoodoo.errors`, passes. Built-in plugins come through the same seam.
"""

from __future__ import annotations

from hoodoo.kernel.answers import (  # each has rules
    engines,  # noqa: F401
    file_formats,  # noqa: F401
    indexes,  # noqa: F401
    keys,  # noqa: F401
    rules,  # noqa: F401
    serializing,  # noqa: F401
    shapes,
)
from hoodoo.kernel.answers.declared import checked, kind_of, part, rule
from hoodoo.kernel.answers.seam import Ask, Checked, plain, who_is
from hoodoo.kernel.answers.wrong import Who, Wrong, excuse, excused, says

__all__ = ["Ask", "Checked", "Who", "Wrong", "checked", "excuse", "excused", "kind_of", "part"]
__all__ += ["plain", "rule", "says", "shapes", "who_is"]
