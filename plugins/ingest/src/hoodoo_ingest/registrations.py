"""What hoodoo-ingest offers: the function and the subcommand ``ingest``, and its sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration


@hookimpl
def hoodoo_families() -> Mapping[str, str]:
    return {
        "source": "hoodoo_ingest.hookspecs:SOURCE",
    }


@hookimpl
def hoodoo_sources() -> Iterable[Registration]:
    return [
        Registration(
            "files",
            "hoodoo_ingest.sources.files:Files.from_settings",
            summary="new files of a folder: Parquet, JSON lines, CSV and Avro",
        ),
        Registration(
            "kafka",
            "hoodoo_ingest.sources.kafka:Kafka.from_settings",
            summary="messages of a topic of Kafka, which Spark reads",
        ),
    ]


@hookimpl
def hoodoo_functions() -> Iterable[Registration]:
    return [
        Registration(
            "ingest",
            "hoodoo_ingest.run:ingest",
            summary="Feed a table from a source, in rounds, as a configuration says.",
        )
    ]


@hookimpl
def hoodoo_commands() -> Iterable[Registration]:
    return [
        Registration(
            "ingest",
            "hoodoo_ingest.command:ingest",
            summary="Feed a table from files or Kafka, as a configuration file says.",
        )
    ]
