"""Contract suites: one class of pytest tests per extension point, run by every plugin that offers
it.

Subclass the class in your own tests and answer its fixtures; pytest finds the tests by
inheritance::

    from hoodoo.testing.contracts.storage import StorageContract

    class TestMine(StorageContract):
        @pytest.fixture
        def storage(self, tmp_path):
            return MyStorage(tmp_path)

Class names don't begin with ``Test``, so that an imported suite is not collected on its own. These
modules import pytest; nothing else in ``hoodoo`` does.
"""

from __future__ import annotations

import pkgutil

import pytest

# So that a failing assert of a suite shows its values in a stranger's test run.
pytest.register_assert_rewrite(
    *(f"{__name__}.{found.name}" for found in pkgutil.iter_modules(__path__))
)
