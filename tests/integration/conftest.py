"""Tests across distributions, through the public API."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # helper modules, which are no package
