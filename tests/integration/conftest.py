"""Tests across distributions, through the public API."""

from __future__ import annotations

import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE))  # helper modules, which are no package
sys.path.append(str(_HERE.parent / "crash"))  # how much is tried
