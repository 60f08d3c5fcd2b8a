"""Docstrings for the site: roles of Sphinx, which mkdocstrings shows as they are written, become code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":\w+:`~?(?:[\w.]+\.)?(\w+)`")


class Roles(griffe.Extension):
    """``:class:`~hoodoo.Table``` is shown as ``Table``."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = _ROLE.sub(r"`\1`", obj.docstring.value).replace("``", "`")
