"""Calls that become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

from collections.abc import Sequence

from hoodoo.errors import ConfigError, HoodooError
from hoodoo.table.handle import TableHandle
from hoodoo.table.opened import PARTICIPANT_SERVICE, action_run

from hoodoo_publishing import options
from hoodoo_publishing.catalogs.faces import Faces, faces
from hoodoo_publishing.formats import named
from hoodoo_publishing.iceberg.file_ids import note_ids
from hoodoo_publishing.participant import publish as publish_all


def publish(
    table: TableHandle,
    formats: str | Sequence[str] | None = None,
    *,
    catalog: str | Sequence[str] | None = None,
    keep: bool = False,
) -> tuple[str, ...]:
    """Write the metadata of other formats for the newest state of the table: ``"delta"``,
    ``"iceberg"``, or both, and ``"manifest"``, a list of the newest base files; by default those of
    the property ``hoodoo.open.formats``. With ``keep``, ``formats`` are stored there: they, and no
    others, are written after each action; ``""`` switches all off.

    ``catalog``: catalogs that show the table as the format, by default those of the property
    ``hoodoo.open.catalogs``: ``"glue://db.trips"``, ``"hms://host:9083/db.trips"``, or
    ``"iceberg://name/db.trips"`` for a catalog that pyiceberg's configuration describes;
    ``"iceberg=glue://db.trips"`` if several formats are published. ``keep`` stores them, too.

    Returns ``<format> <instant>`` of each new version, and ``<format>=<catalog>`` of each entry
    that has changed. Raises ConfigError for an unknown format, and for a merge-on-read table
    without ``hoodoo.open.read.optimized``, SchemaError for a column that the format has no type
    for, and CommitConflictError if other processes are always first; then the error of a catalog.
    """
    table.refresh()
    names = [formats] if isinstance(formats, str) else formats
    names = names if names is not None else options.FORMATS.stored(table.config.properties)
    every = [part.strip().lower() for name in names or () for part in name.split(",")]
    every = list(dict.fromkeys(filter(None, every)))
    if keep and formats is not None and not every:
        table.check_writable()
        table.change_properties({options.FORMATS.key: None, options.CATALOGS.key: None})
        return ()
    if not every:
        raise ConfigError(
            f"table {table.config.name}",
            f"has no {options.FORMATS.key}, and the call names no format.",
            'Call table.publish("delta"), or "iceberg".',
        )
    stored = options.CATALOGS.stored(table.config.properties) or ()
    places = [catalog] if isinstance(catalog, str) else catalog
    each = faces(stored if places is None else places, every, lenient=places is None)
    if keep:
        table.check_writable()
    with action_run(table, PARTICIPANT_SERVICE) as events:
        request, forms = table.participants.request(), named(every)
        done = publish_all(request, forms)
        shown = Faces(each, table.options).update(table.storage, request.config, forms, True)
        done += tuple(str(face) for face, found in shown if found is True)
        if not done:
            events.skip()
    if keep:
        note_ids(table.storage, table.config, forms, table.timeline().latest_schema_text)
        texts = options.CATALOGS.spell(tuple(map(str, each))) if each else None
        table.change_properties({options.FORMATS.key: ",".join(every), options.CATALOGS.key: texts})
    for _, found in shown:
        if isinstance(found, HoodooError):
            raise found
    return done
