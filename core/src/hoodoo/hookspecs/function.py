"""Function: a function of the package ``hoodoo``, or a method of what reads answer."""

from __future__ import annotations

from hoodoo.hookspecs.family import Family

FAMILY = Family(
    "hoodoo_functions",
    """Offer functions that users call: ``hoodoo.scan_polars(...)``, ``scan.to_dataset()``. When:
    the package, or a scan, is asked for a name that core does not have, and for ``dir()`` of them.
    Default: those of hoodoo-frames.

    ``name`` is the name in the package, as it is written, or ``Scan.`` and the name of a method of
    every read. Unlike other factories, ``factory`` is the function, and gets no settings; that of a
    method gets the read first. As a text ``package.module:name`` it is imported when it is first
    asked for: give a text, as discovery has to be fast. A function that can't be imported is named
    in an error when it is asked for. Names of core's own stay core's.""",
)
