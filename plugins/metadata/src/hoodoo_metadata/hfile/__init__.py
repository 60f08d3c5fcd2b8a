"""HFiles: sorted keys with values, in blocks that an index leads to. The base files and log blocks
of Hudi's metadata table, and the index of a bootstrap. Other distributions use these names."""

from hoodoo_metadata.hfile.format import ENTRIES, Checksum
from hoodoo_metadata.hfile.reader import HFile
from hoodoo_metadata.hfile.window import FileWindow
from hoodoo_metadata.hfile.writer import HFileSummary, write_hfile

__all__ = ["ENTRIES", "Checksum", "FileWindow", "HFile", "HFileSummary", "write_hfile"]
