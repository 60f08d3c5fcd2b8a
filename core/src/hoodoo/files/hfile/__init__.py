"""HFiles: sorted keys with values, in blocks that an index leads to. The base files and log blocks of
Hudi's metadata table. What is public of the modules ``hfile_*``."""

from hoodoo.files.hfile.format import ENTRIES, Checksum
from hoodoo.files.hfile.reader import HFile
from hoodoo.files.hfile.window import FileWindow
from hoodoo.files.hfile.writer import HFileSummary, write_hfile

__all__ = ["ENTRIES", "Checksum", "FileWindow", "HFile", "HFileSummary", "write_hfile"]
