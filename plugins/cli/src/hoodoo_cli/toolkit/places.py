"""Where a file lies that is no table: the store that has it, and its name there."""

from __future__ import annotations

import os
from collections.abc import Mapping

from hoodoo.errors import ConfigError
from hoodoo.storage.api import Storage
from hoodoo.storage.uri import local_path, split


def located(path: str, options: Mapping[str, str]) -> tuple[Storage, str]:
    """The store of the file's folder, and the name of the file. PluginError if no plugin offers the
    scheme, ConfigError for the path of a folder."""
    from hoodoo.table.settings import open_storage, typed_options

    folder, slash, name = path.rpartition("/")
    if name in ("", ".", ".."):
        raise ConfigError(f"path {path!r}", "names no file.", "Give the path of a file.")
    return open_storage(folder or ("/" if slash else "."), typed_options(options)), name


def is_local(path: str) -> bool:
    """Whether the file lies on a disk of this machine."""
    return split(path)[0] in ("", "file")


def missing(path: str) -> ConfigError:
    """The error that there is no such file."""
    if is_local(path) and os.path.isdir(local_path(path)):
        return ConfigError(f"path {path}", "is a folder.", "Give the path of a file.")
    return ConfigError(f"file {path}", "does not exist.", "Give the path of a file.")
