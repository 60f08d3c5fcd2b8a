"""What the site needs beside the pages: files outside of docs/ that they link to, and what GitHub's Markdown has
and Python's lacks.

Pages stay as they are: links of theirs lead to files of the repository, so that they can be followed in a checkout. A file
outside of docs/ that some page links to becomes a page of the site below ``repo/``, and links are changed when a
page is built. A link to nothing stays, and MkDocs warns of it.
"""

from __future__ import annotations

import html as markup
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
IN_NAVIGATION = (
    "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "tests/combinations.md", "tests/rfcs.md",
)  # fmt: skip
_FENCE = re.compile(
    r"^(?P<open>```+)(?P<lang>[\w+-]*)[^\n`]*\n(?P<body>.*?)^(?P=open)\s*$", re.M | re.S
)
_LINK = re.compile(r"(\]\()(?P<to>[^)\s#:]+)(?P<anchor>#[^)\s]*)?(\))")
_ITEM = re.compile(r"^(?:[-*+]|1\.) ")
_TABLE = re.compile(r"<table>.*?</table>", re.S)
_HEADING = re.compile(r"<th\b[^>]*>(.*?)</th>", re.S)
_CELL = re.compile(r"<td\b([^>]*)>")
_CELLS = re.compile(r"<td\b[^>]*>(.*?)</td>", re.S)
_TAG = re.compile(r"<[^>]+>")
# Letters of a cell, of a word, and of what names a row, of which a column of three on a phone makes many lines.
_LONG, _LONG_WORD, _LONG_FIRST = 110, 20, 40
_LANGUAGES = {".py": "py", ".cfg": "ini", ".toml": "toml", ".sh": "sh", ".ini": "ini"}
# Pages of the site: where they are in the repository -> where they are in the site.
_pages: dict[str, str] = {}


def on_config(config: Any) -> Any:
    """Patterns in the navigation, such as that of the decisions, become the pages that match."""
    config["nav"] = _expanded(config["nav"], Path(config["docs_dir"]))
    return config


def _expanded(items: list[Any], docs: Path) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if isinstance(item, str) and "*" in item:
            found += [path.relative_to(docs).as_posix() for path in sorted(docs.glob(item))]
        elif isinstance(item, dict):
            found.append(
                {k: _expanded(v, docs) if isinstance(v, list) else v for k, v in item.items()}
            )
        else:
            found.append(item)
    return found


def on_files(files: Files, config: Any) -> Files:
    """Adds what pages link to outside of docs/, and what that links to."""
    docs = Path(config["docs_dir"])
    here = docs.relative_to(ROOT).as_posix()
    _pages.clear()
    todo = []
    for file in files.documentation_pages():
        if file.abs_src_path:
            _pages[f"{here}/{file.src_uri}"] = file.src_uri
            todo.append(f"{here}/{file.src_uri}")
    for file in files.media_files():
        _pages[f"{here}/{file.src_uri}"] = file.src_uri
    for place in IN_NAVIGATION:
        todo += _add(place, files, config)
    while todo:
        place = todo.pop()
        if place.endswith(".md"):
            for target in _targets(place):
                if target not in _pages:
                    todo += _add(target, files, config)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    here = page.file.src_uri
    place = next((known for known, uri in _pages.items() if uri == here), None)

    def lead(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(place or ""), match["to"]))
        if place is None or target not in _pages:
            return match[0]
        to = posixpath.relpath(_pages[target], posixpath.dirname(here) or ".")
        return f"{match[1]}{to}{match['anchor'] or ''}{match[4]}"

    parts, end = [], 0
    for fence in _FENCE.finditer(markdown):
        parts.append(_prose(_LINK.sub(lead, markdown[end : fence.start()])))
        parts.append(f"{fence['open']}{fence['lang']}\n{fence['body']}{fence['open']}\n")
        end = fence.end()
    return "".join([*parts, _prose(_LINK.sub(lead, markdown[end:]))])


def _prose(text: str) -> str:
    """Lists that follow a paragraph without an empty line between them get one."""
    lines: list[str] = []
    listed = False
    for line in text.split("\n"):
        item = bool(_ITEM.match(line))
        if item and not listed and lines and lines[-1].strip():
            lines.append("")
        listed = item or (listed and bool(line.strip()))
        lines.append(line)
    return "\n".join(lines)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Each cell of a table that is too wide for a phone has the name of its column: there, a row becomes a card."""
    return _TABLE.sub(_with_names, html)


def _with_names(match: re.Match[str]) -> str:
    table = match[0]
    names = [markup.unescape(_TAG.sub("", one)).strip() for one in _HEADING.findall(table)]
    if len(names) < 5 and not (len(names) > 2 and _is_wide(table, len(names))):
        return table
    rows = table.split("<tr>")
    for at, row in enumerate(rows):
        label = iter(names)
        rows[at] = _CELL.sub(
            lambda cell, label=label: f'<td data-name="{markup.escape(next(label, ""))}"{cell[1]}>',
            row,
        )
    return "<tr>".join(rows).replace("<table>", "<table data-cards>", 1)


def _is_wide(table: str, columns: int) -> bool:
    """Whether its cells are too long for one of several columns of a phone, or have words that would be cut in two."""
    cells = [markup.unescape(_TAG.sub("", cell)) for cell in _CELLS.findall(table)]
    words = (len(word) for cell in cells for word in cell.split())
    first = max(map(len, cells[::columns]), default=0)
    return (
        max(map(len, cells), default=0) >= _LONG
        or max(words, default=0) >= _LONG_WORD
        or first >= _LONG_FIRST
    )


def _targets(place: str) -> list[str]:
    text = _FENCE.sub("", (ROOT / place).read_text("utf-8"))
    found = (posixpath.join(posixpath.dirname(place), m["to"]) for m in _LINK.finditer(text))
    return [posixpath.normpath(target) for target in found]


def _add(place: str, files: Files, config: Any) -> list[str]:
    """A page made of the file or folder at ``place``; nothing where neither is there."""
    source = ROOT / place
    if place in _pages or not source.resolve().is_relative_to(ROOT) or not source.exists():
        return []
    uri = "repo/" + re.sub(
        r"(^|/)[.]", r"\1", place
    )  # MkDocs leaves out names that begin with a dot
    if source.is_dir():
        names = sorted(p.name + "/" * p.is_dir() for p in source.iterdir() if not _hidden(p))
        uri, text = f"{uri}/index.md", "\n".join([f"# {place}", "", *(f"- `{n}`" for n in names)])
    elif place.endswith(".md"):
        text = source.read_text("utf-8")
    else:
        language = _LANGUAGES.get(source.suffix, "text")
        uri = f"{uri}.md"
        text = f"# {place}\n\n````{language}\n{source.read_text('utf-8').rstrip()}\n````\n"
    files.append(File.generated(config, uri, content=text))
    _pages[place] = uri
    return [place]


def _hidden(path: Path) -> bool:
    return path.name.startswith((".", "__")) or path.name.endswith(".egg-info")
