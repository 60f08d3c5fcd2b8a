"""What hoodoo-vectors offers. Functions are named, not imported, so that discovery stays cheap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration


@hookimpl
def hoodoo_families() -> Mapping[str, str]:
    return {"vector_index": "hoodoo_vectors.hookspecs:VECTOR_INDEX"}


@hookimpl
def hoodoo_logical_types() -> Iterable[Registration]:
    return [
        Registration(
            "vector",
            "hoodoo_vectors.vector:Vector.from_settings",
            summary="VECTOR: numbers of a fixed length, such as embeddings.",
        )
    ]


@hookimpl
def hoodoo_functions() -> Iterable[Registration]:
    return [
        Registration(
            "vector", "hoodoo_vectors.vector:vector", summary="The Arrow type of VECTOR(dimension)."
        ),
        Registration(
            "Scan.search",
            "hoodoo_vectors.search:search",
            summary="The rows whose vectors are nearest to a given one.",
            verbs={"search": "hoodoo_vectors.verbs:search"},
        ),
    ]


@hookimpl
def hoodoo_commands() -> Iterable[Registration]:
    return [
        Registration(
            "search",
            "hoodoo_vectors.command:search",
            summary="Print the rows whose vectors are nearest to a given one.",
        )
    ]
