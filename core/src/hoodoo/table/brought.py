"""Methods of :class:`hoodoo.Table` that plugins bring: ``brought.pyi`` has their names, their
types, and the distributions that bring them."""

from __future__ import annotations

import pkgutil
import re

from hoodoo.table.verbs import Offered


class Brought:
    """The methods of the stub. Each is a function over the table's handle, in the plugin."""


_distribution = ""
for _begun, _name in re.findall(
    r"^    (?:# (\S+)|def (\w+))", (pkgutil.get_data(__name__, "brought.pyi") or b"").decode(), re.M
):
    _distribution = _begun or _distribution
    if _name:
        setattr(Brought, _name, Offered(_name, _distribution))
