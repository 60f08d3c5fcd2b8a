"""Contract suites: see :mod:`hoodoo.testing.contracts`. These modules import pytest."""

from __future__ import annotations

import pkgutil

import pytest

# So that a failing assert of a suite shows its values in a stranger's test run.
pytest.register_assert_rewrite(
    *(f"{__name__}.{found.name}" for found in pkgutil.iter_modules(__path__))
)
