"""All options that core reads itself. Those of what core registers (the store, the serializer) stand with the registrations."""

from __future__ import annotations

from hoodoo.options.files import FILE_OPTIONS
from hoodoo.options.option import Option
from hoodoo.options.table import TABLE_OPTIONS
from hoodoo.options.virtual import VIRTUAL_OPTIONS
from hoodoo.options.write import WRITE_OPTIONS

CORE_OPTIONS: tuple[Option, ...] = (*TABLE_OPTIONS, *WRITE_OPTIONS, *FILE_OPTIONS, *VIRTUAL_OPTIONS)
