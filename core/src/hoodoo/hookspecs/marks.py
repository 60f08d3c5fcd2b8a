"""The two pluggy markers of the project."""

from __future__ import annotations

import pluggy

PROJECT = "hoodoo"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
