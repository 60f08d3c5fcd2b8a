"""The kinds of findings."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo.model.findings import Finding

# Every kind of finding, in the order in which a report lists them, and what it means.
KINDS: dict[str, str] = {
    "properties.unreadable": "hoodie.properties is missing, cut short, or has a wrong checksum",
    "properties.version": "table version and timeline layout are not a pair that is read",
    "properties.key": "a property is missing, or names a column that the table lacks",
    "properties.backup": "an update of hoodie.properties was not finished",
    "timeline.unreadable": "an instant can't be decoded",
    "timeline.twice": "an instant is completed twice",
    "timeline.note": "the note of replaced file groups does not say what a replacecommit says",
    "timeline.replaced": "a replacecommit took out of the table what never was in it",
    "timeline.archived": "the archived timeline can't be read, or its _version_ names no manifest",
    "timeline.inflight": "a pending instant has lost its requested file",
    "file.missing": "a file of a commit or savepoint is lost",
    "file.size": "a file is not as long as its commit says",
    "file.twice": "a file group has two base files of one instant",
    "file.unnamed": "a file that its commit does not name",
    "file.stray": "a file whose instant is unknown, or undone",
    "partition.metadata": "a partition without a good .hoodie_partition_metadata",
    "base.unreadable": "a base file whose footer can't be read",
    "base.rows": "a base file with more or fewer rows than its commit says",
    "log.damaged": "a log file with damaged bytes",
    "read.failed": "rows that can't be read",
    "key.null": "rows without a record key",
    "key.twice": "a record key that occurs more than once",
    "key.filter": "a footer that denies keys which the file has",
    "row.placement": "rows in another partition path than their columns say",
    "metadata.unreadable": "the metadata table can't be read",
    "metadata.files": "the metadata table lists other files than there are",
    "metadata.keys": "the record index does not say where keys are",
    "metadata.values": "a secondary index does not say which keys have a value",
    "metadata.filters": "the metadata table lacks the bloom filter of a base file, or has another "
    "one",
    "index.keys": "the table's index does not say where keys are",
    "meta.file_name": "rows with a wrong _hoodie_file_name",
    "meta.partition_path": "rows with a wrong _hoodie_partition_path",
    "meta.commit_time": "rows with a wrong _hoodie_commit_time",
}


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """As a report lists them; of several that are equal one."""
    order = list(KINDS)
    place = {kind: n for n, kind in enumerate(order)}
    once = dict.fromkeys(findings)
    return tuple(sorted(once, key=lambda f: (place.get(f.kind, len(order)), f.obj)))
