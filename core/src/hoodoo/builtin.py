"""What hoodoo-core itself offers, through the same door as everybody else."""

from __future__ import annotations

from hoodoo.hookspecs import Registration, Settings, hookimpl
from hoodoo.options.table import STORAGE_URI
from hoodoo.options.write import SERIALIZER
from hoodoo.storage.api import Storage


@hookimpl
def hoodoo_storages() -> list[Registration]:
    return [
        Registration(
            "file",
            local_storage,
            aliases=("", "local"),
            summary="Files of this host, or of a file system mounted on all of them.",
        )
    ]


@hookimpl
def hoodoo_serializers() -> list[Registration]:
    return [
        Registration(
            "arrow",
            "hoodoo.engine.arrow_serializer:ArrowSerializer.from_settings",
            options=(SERIALIZER,),
            summary="Packed record batches, as they lie in memory.",
            default=True,
        )
    ]


def local_storage(settings: Settings) -> Storage:
    """The local store at the option ``hoodoo.storage.uri`` (set by whoever opens the table)."""
    from hoodoo.storage.local import LocalStorage

    return LocalStorage(STORAGE_URI.read(settings.options))
