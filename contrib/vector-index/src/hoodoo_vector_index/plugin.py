"""What this distribution offers. Discovery imports it in every process: nothing heavy here."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Option, Registration
from hoodoo.options import Number, Size, Whole

COLUMNS = Option(
    "hoodoo.index.vector.columns",
    "The columns whose vectors are indexed, each with its metric (l2 without one): "
    "`embedding cosine, photo`.",
    table_property=True,
    assumed=False,
)
LEAST = Option(
    "hoodoo.index.vector.least.rows",
    "Base files with fewer vectors are searched whole.",
    "2000",
    kind=Whole(1),
)
SHARE = Option(
    "hoodoo.index.vector.share",
    "The part of the lists of each file that a search looks into: more find more, and take longer.",
    "0.2",
    kind=Number(above=0, most=1),
)
MEMORY = Option(
    "hoodoo.index.vector.memory",
    "Bytes of indexes that a process keeps in memory between searches.",
    "2 GB",
    kind=Size(0),
)


@hookimpl
def hoodoo_participants() -> Iterable[Registration]:
    return [
        Registration(
            "vector_index",
            "hoodoo_vector_index.learns:Learns.from_settings",
            options=(COLUMNS, LEAST),
            summary="indexes the vectors of new base files, after each action",
        )
    ]


@hookimpl(optionalhook=True)
def hoodoo_vector_indexes() -> Iterable[Registration]:
    return [
        Registration(
            "ivf",
            "hoodoo_vector_index.index:IvfIndex.from_settings",
            options=(SHARE, MEMORY),
            summary="inverted lists of each base file, by faiss",
        )
    ]


@hookimpl
def hoodoo_actions() -> Iterable[Registration]:
    return [
        Registration(
            "index_vectors",
            "hoodoo_vector_index.action:IndexVectors.from_settings",
            options=(COLUMNS, LEAST),
            summary="indexes the vectors of base files, beside writers",
        ),
        Registration(
            "forget_vectors",
            "hoodoo_vector_index.action:ForgetVectors.from_settings",
            summary="deletes what an index of vectors has of older files; an erasure does it, too",
            roles=("forgets",),
        ),
    ]


@hookimpl
def hoodoo_reports() -> Iterable[Registration]:
    return [
        Registration(
            "vector_index",
            "hoodoo_vector_index.report:OfVectorIndex.from_settings",
            options=(COLUMNS, SHARE, MEMORY),
            summary="which files an index of vectors knows, and its recall by a sample",
        )
    ]
