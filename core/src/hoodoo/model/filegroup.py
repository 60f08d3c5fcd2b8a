"""File group -> file slice -> base file and log files (tech specs, "File layout")."""

from __future__ import annotations

from attrs import field, frozen

from hoodoo.model import brief


def path_of(partition_path: str, name: str) -> str:
    """A file's path below the table root; the partition path is ``""`` where there are none."""
    return f"{partition_path}/{name}" if partition_path else name


@frozen(order=True)
class BaseFile:
    """One base file below the directory ``partition_path``. Those of other programs have no
    ``write_token``."""

    partition_path: str
    file_id: str
    instant: str
    write_token: str
    extension: str = ".parquet"
    size: int = field(default=0, eq=False)  # bytes; 0 when unknown

    @property
    def name(self) -> str:
        """The file name, ``<file id>_<write token>_<instant>.<extension>`` (specification, "Base
        Files"); the file id alone where there is no write token."""
        ours = f"{self.file_id}_{self.write_token}_{self.instant}{self.extension}"
        return ours if self.write_token else self.file_id

    @property
    def path(self) -> str:
        """Relative to the table root."""
        return path_of(self.partition_path, self.name)


# Of a log of change data, at the end of its name.
CHANGE_SUFFIX = ".cdc"


@frozen(order=True)
class LogFile:
    """One log file. ``instant`` is the base instant (version 6) or the delta commit's (8, 9)."""

    partition_path: str
    file_id: str
    instant: str
    version: int
    write_token: str
    suffix: str = ""
    size: int = field(default=0, eq=False)

    @property
    def name(self) -> str:
        """The file name, ``.<file id>_<instant>.log.<version>_<write token>`` (specification, "Log
        Files")."""
        return f".{self.file_id}_{self.instant}.log.{self.version}_{self.write_token}{self.suffix}"

    @property
    def path(self) -> str:
        """The path relative to the table."""
        return path_of(self.partition_path, self.name)


@frozen(repr=False)
class FileSlice:
    """What a reader needs of one file group at one moment."""

    partition_path: str
    file_id: str
    instant: str
    base_file: BaseFile | None = None
    log_files: tuple[LogFile, ...] = ()

    def __repr__(self) -> str:
        base = "no base file" if self.base_file is None else "a base file"
        logs = f" and {len(self.log_files)} log files" if self.log_files else ""
        where = f" in {brief.cut(self.partition_path, 80)}" if self.partition_path else ""
        return (
            f"<FileSlice {self.file_id} at {self.instant}{where}: {base}{logs}, "
            f"{brief.size(self.size)}>"
        )

    @property
    def row_logs(self) -> tuple[LogFile, ...]:
        """The log files that rows are merged from: without those of change data."""
        return tuple(log for log in self.log_files if not log.suffix)

    @property
    def size(self) -> int:
        """Bytes of base file and log files together."""
        base = self.base_file.size if self.base_file else 0
        return base + sum(log.size for log in self.log_files)


@frozen
class FileGroup:
    """All slices of one file id, newest first."""

    partition_path: str
    file_id: str
    slices: tuple[FileSlice, ...] = ()

    @property
    def latest(self) -> FileSlice | None:
        """The newest file slice; None for a group without a visible file."""
        return self.slices[0] if self.slices else None
