"""The drawings of README.md and docs/concepts.md: ``python docs/_site/drawings.py`` writes them into docs/images.

Plain SVG, so that GitHub shows them and a site without a network, too; light and dark follow the reader's setting.
They are 560 units wide, so that their text can be read on a phone.
"""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

FOLDER = Path(__file__).parents[1] / "images"
WIDTH = 560
STYLE = """<style>
text { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #24303c; font-size: 15px; }
.paper { fill: #ffffff; } .small { font-size: 13px; fill: #5b6975; } .head { font-weight: 600; }
.box { fill: #f4f6f8; stroke: #8795a3; stroke-width: 1.2; }
.new { fill: #d8eef2; stroke: #1f7a8c; stroke-width: 1.6; }
.old { fill: none; stroke: #8795a3; stroke-width: 1.2; stroke-dasharray: 5 4; }
.area { fill: none; stroke: #c3ccd4; stroke-width: 1; }
.line { stroke: #5b6975; stroke-width: 1.5; fill: none; }
.tip { fill: #5b6975; } .bar { fill: #8795a3; } .good { fill: #1f7a8c; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e9ee; } .paper { fill: #14191f; } .small { fill: #98a5b1; }
  .box { fill: #1c232b; stroke: #7d8a97; } .new { fill: #12333a; stroke: #45b3c6; } .old { stroke: #7d8a97; }
  .area { stroke: #2c3640; } .line { stroke: #98a5b1; } .tip { fill: #98a5b1; }
  .bar { fill: #7d8a97; } .good { fill: #45b3c6; }
}
</style>"""


class Drawing:
    """Shapes, one after the other."""

    def __init__(self, title: str, height: int) -> None:
        self.title, self.height = title, height
        self.parts: list[str] = []

    def text(self, x: float, y: float, text: str, kind: str = "", middle: bool = False) -> None:
        anchor = ' text-anchor="middle"' if middle else ""
        kind = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}"{kind}{anchor}>{escape(text)}</text>')

    def box(self, x: float, y: float, w: float, h: float, *lines: str, kind: str = "box") -> None:
        self.parts.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="5"/>'
        )
        top = y + h / 2 + 5 - 9 * (len(lines) - 1)
        for number, line in enumerate(lines):
            self.text(x + w / 2, top + 18 * number, line, "small" * (number > 0), middle=True)

    def area(self, x: float, y: float, w: float, h: float, title: str) -> None:
        self.parts.append(
            f'<rect class="area" x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="7"/>'
        )
        self.text(x + 10, y + 20, title, "small")

    def arrow(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """Along an axis: across or down."""
        self.parts.append(f'<path class="line" d="M{x1:g} {y1:g}L{x2:g} {y2:g}"/>')
        if x1 == x2:
            back = -8 if y2 > y1 else 8
            tip = f"M{x2:g} {y2:g}l-5 {back:g}h10z"
        else:
            back = -8 if x2 > x1 else 8
            tip = f"M{x2:g} {y2:g}l{back:g} -5v10z"
        self.parts.append(f'<path class="tip" d="{tip}"/>')

    def bar(self, x: float, y: float, w: float, kind: str) -> None:
        self.parts.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{w:g}" height="9" rx="2"/>'
        )

    def write(self, name: str) -> None:
        size = f'width="{WIDTH}" height="{self.height}" viewBox="0 0 {WIDTH} {self.height}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(self.title)}">'
        paper = f'<rect class="paper" x="0" y="0" width="{WIDTH}" height="{self.height}"/>'
        text = "\n".join([head, f"<title>{escape(self.title)}</title>", STYLE, paper, *self.parts])
        (FOLDER / f"{name}.svg").write_text(text + "\n</svg>\n", "utf-8")


def overview() -> None:
    d = Drawing("Hoodoo between programs in Python and Hudi tables", 330)
    for x, name, what in (
        (15, "Arrow data", "pyarrow, polars, pandas, DuckDB"),
        (290, "Spark DataFrames", "your own SparkSession"),
    ):
        d.box(x, 14, 255, 46, name, what)
        d.arrow(x + 127, 62, x + 127, 84)
    d.parts.append('<rect class="new" x="15" y="88" width="530" height="92" rx="7"/>')
    d.text(28, 110, "Hoodoo", "head")
    d.text(100, 110, "a small core; every decision is a plugin in Python", "small")
    for number, name in enumerate(("keys", "index", "merger", "layout", "formats", "services")):
        d.box(28 + number * 85, 124, 79, 40, name)
    d.arrow(142, 182, 142, 204)
    d.area(15, 208, 255, 106, "one Hudi table, on disk or in a store")
    for number, name in enumerate((".hoodie", "Parquet", "logs")):
        d.box(28 + number * 78, 242, 72, 40, name)
    d.text(28, 304, "versions 6, 8 and 9", "small")
    d.box(370, 236, 175, 56, "Spark Hudi", "reads and writes it, too")
    d.arrow(320, 264, 274, 264)
    d.arrow(320, 264, 366, 264)
    d.write("overview")


def timeline() -> None:
    d = Drawing("A timeline with four instants", 250)
    d.text(20, 28, "The timeline of a table, in .hoodie/timeline", "head")
    d.arrow(20, 150, 545, 150)
    d.text(500, 172, "time", "small")
    for x, action, what in (
        (70, "commit", "insert"),
        (195, "commit", "upsert"),
        (320, "clean", "old files"),
    ):
        d.box(x - 50, 70, 100, 46, action, what, kind="new")
        d.arrow(x, 118, x, 148)
        d.text(x, 172, "completed", "small", middle=True)
    d.box(395, 70, 100, 46, "commit", "upsert", kind="old")
    d.arrow(445, 118, 445, 148)
    d.text(445, 172, "inflight", "small", middle=True)
    d.text(20, 208, "Readers see completed actions only. If the writer of an")
    d.text(20, 228, "inflight action has died, the next writer rolls it back.")
    d.write("timeline")


def file_groups() -> None:
    d = Drawing("Partition paths, file groups and file slices of a table", 400)
    d.text(20, 28, "A table, its partition paths, its files", "head")
    d.area(15, 44, 530, 165, "oslo/   in a copy-on-write table")
    d.text(28, 88, "file group A")
    d.box(28, 98, 150, 46, "base file 1", "10:00", kind="old")
    d.box(200, 98, 150, 46, "base file 2", "11:00", kind="old")
    d.box(372, 98, 150, 46, "base file 3", "12:00", kind="new")
    d.text(28, 170, "Each change writes the whole file again: three file slices of one", "small")
    d.text(28, 188, "file group. Readers use the newest; a clean deletes the others.", "small")
    d.area(15, 222, 530, 165, "oslo/   in a merge-on-read table")
    d.text(28, 266, "file group A")
    d.box(28, 276, 150, 46, "base file 1", "10:00", kind="new")
    d.box(200, 276, 150, 46, "log file", "11:00", kind="new")
    d.box(372, 276, 150, 46, "log file", "12:00", kind="new")
    d.text(28, 348, "Each change adds a log file: still one file slice. Readers merge the", "small")
    d.text(28, 366, "files; a compaction writes them as one new base file.", "small")
    d.write("file-groups")


def write() -> None:
    d = Drawing("The steps of a write", 520)
    d.text(20, 28, "An upsert, step by step", "head")
    steps = (
        ("1  requested", "an instant appears on the timeline", "box"),
        ("2  keys", "record key and partition path of each row", "box"),
        ("3  index lookup", "which file group has this key?", "box"),
        ("4  plan", "rows to file groups; new keys to small files", "box"),
        ("5  merge and write", "new base files or log files, in tasks", "box"),
        ("6  check", "what have other writers committed?", "box"),
        ("7  completed", "one file appears: readers see the whole write", "new"),
    )
    for number, (name, what, kind) in enumerate(steps):
        y = 46 + number * 62
        d.box(30, y, 340, 46, name, what, kind=kind)
        if number:
            d.arrow(200, y - 16, 200, y - 1)
    d.parts.append('<path class="line" d="M372 379L440 379L440 69L376 69"/>')
    d.parts.append('<path class="tip" d="M372 69l8 -5v10z"/>')
    d.text(450, 240, "conflict:", "small")
    d.text(450, 258, "start again", "small")
    d.text(450, 276, "on the newest", "small")
    d.text(450, 294, "state", "small")
    d.text(20, 500, "If it stops anywhere before step 7, the table is unchanged.")
    d.write("write")


def merge() -> None:
    d = Drawing("Two rows with the same key are merged by their ordering value", 300)
    d.text(20, 28, "Two rows with the same key: which one stays?", "head")
    d.text(20, 60, "stored", "small")
    d.box(20, 68, 240, 40, "ride 7   fare 12   ts 5")
    d.text(300, 60, "incoming", "small")
    d.box(300, 68, 240, 40, "ride 7   fare 99   ts 3")
    d.text(20, 142, 'ordering="ts": the row with the higher ts stays', "small")
    d.box(20, 150, 240, 40, "ride 7   fare 12   ts 5", kind="new")
    d.text(20, 224, "no ordering: the row that is written later stays", "small")
    d.box(300, 232, 240, 40, "ride 7   fare 99   ts 3", kind="new")
    d.arrow(140, 110, 140, 128)
    d.arrow(420, 110, 420, 228)
    d.write("merge")


def lookup() -> None:
    d = Drawing("Three ways to find the file group of a key", 420)
    d.text(20, 28, 'Where is the key "ride 7"?', "head")
    rows = (
        (
            "simple, bloom",
            "reads",
            ("keys of files",),
            "cost grows with the number of files in the table",
        ),
        (
            "record_index",
            "looks in",
            ("index of", "all keys"),
            "cost grows with the number of keys you look up",
        ),
        (
            "bucket",
            "computes",
            ("hash of", "the key"),
            "no file is read; the number of buckets is fixed",
        ),
    )
    for number, (name, verb, via, cost) in enumerate(rows):
        y = 50 + number * 122
        d.area(15, y, 530, 108, name)
        d.box(30, y + 32, 110, 46, "ride 7")
        d.arrow(140, y + 55, 206, y + 55)
        d.text(173, y + 48, verb, "small", middle=True)
        d.box(210, y + 32, 130, 46, *via)
        d.arrow(340, y + 55, 396, y + 55)
        d.box(400, y + 32, 130, 46, "file group A", kind="new")
        d.text(30, y + 98, cost, "small")
    d.write("lookup")


def clustering() -> None:
    d = Drawing("Files before and after a clustering", 330)
    d.text(20, 28, "Which files can have a fare of 40?", "head")
    d.text(20, 58, "before: six small files, with fares of all sizes", "small")
    for number, (start, end) in enumerate(((2, 92), (10, 99), (0, 88), (5, 97), (20, 95), (8, 80))):
        y = 70 + number * 15
        d.bar(30 + start * 5, y, (end - start) * 5, "bar")
    d.text(20, 186, "a query opens all six", "small")
    d.text(20, 222, 'after cluster(columns="fare"): three files, sorted', "small")
    for number, (start, end) in enumerate(((0, 33), (33, 66), (66, 99))):
        d.bar(
            30 + start * 5, 234 + number * 15, (end - start) * 5, "good" if number == 1 else "bar"
        )
    d.text(20, 306, "a query opens one", "small")
    d.parts.append(
        '<path class="line" stroke-dasharray="3 3" d="M230 64L230 162M230 228L230 284"/>'
    )
    d.text(236, 302, "fare = 40", "small")
    d.write("before-after")


def which_index() -> None:
    d = Drawing("A decision tree: which index", 520)
    d.text(20, 28, "Which index?", "head")
    steps = (
        (("rows are only added,", "and never found by key"), ("simple", "append uses no index")),
        (
            ("keys are unique in the", "table, up to 5 M of them"),
            ("global_simple", "4,000 of 1 M: 0.05 s"),
        ),
        (
            ("keys are unique in the", "table, more than 5 M"),
            ("record_index", "4,000 of 20 M: 0.18 s, not 1.18 s"),
        ),
        (("each write touches", "most file groups"), ("bucket", "nothing is read to find keys")),
        (("object store, and most", "keys are new"), ("bloom", "17.7 MB read, not 51.1")),
        (
            ("few keys in many files,", "partition paths are known"),
            ("partitioned_record_index", ""),
        ),
    )
    for number, (question, answer) in enumerate(steps):
        y = 46 + number * 68
        d.box(20, y, 210, 50, kind="box")
        d.text(125, y + 22, question[0], middle=True)
        d.text(125, y + 40, question[1], middle=True)
        d.arrow(230, y + 25, 306, y + 25)
        d.text(266, y + 19, "yes", "small", middle=True)
        d.box(310, y, 230, 50, *(part for part in answer if part), kind="new")
        d.arrow(125, y + 50, 125, y + 67)
        d.text(136, y + 63, "no", "small")
    d.box(20, 454, 210, 44, "simple", "the default", kind="new")
    d.write("which-index")


if __name__ == "__main__":
    for draw in (overview, timeline, file_groups, write, merge, lookup, clustering, which_index):
        draw()
