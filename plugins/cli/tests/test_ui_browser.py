"""The page in a real browser, where Chromium is there: it shows the table, and runs no text of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from browser import Browser, program
from hoodoo_cli.ui import query
from hoodoo_cli.ui.server import PageServer
from hoodoo_cli.ui.tables import ManyTables
from ui_tables import ODD, create, rows, served

pytestmark = pytest.mark.skipif(
    program() is None,
    reason="there is no Chromium: apt-get install chromium, or HOODOO_CHROMIUM=/path/of/it",
)

_DRAWN = "document.querySelectorAll('#layout svg').length && document.querySelectorAll('#properties table').length"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = Browser(str(program()), tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


def text(browser: Browser, section: str) -> str:
    return str(browser.value(f"document.querySelector('#{section}').innerText"))


@pytest.mark.sampled(1, among="long")
def test_it_shows_the_table_and_what_is_new(tmp_path: Path, browser: Browser) -> None:
    table = create(tmp_path / "t", "MERGE_ON_READ")
    table.handle.change_properties({"hoodie.table.name": ODD})  # as another program may write it
    table.upsert(rows(range(40), 1, ("oslo", ODD)))
    table.upsert(rows(range(5), 2, ("oslo", ODD)))
    table.schedule("compaction")
    browser.asked.clear()
    browser.errors.clear()
    with served(tmp_path / "t") as server:
        here = f"http://127.0.0.1:{server.port}/"
        browser.show(1440, 900)
        browser.open(here)
        browser.until("document.querySelectorAll('#partitions td').length")
        browser.until("document.querySelectorAll('#properties table').length")
        assert browser.value("document.querySelector('#name').textContent") == ODD
        assert ODD in text(browser, "partitions")
        assert browser.value("document.querySelectorAll('img').length") == 0
        assert browser.value("typeof hacked") == "undefined"
        assert "compaction" in text(browser, "services") and "planned" in text(browser, "services")
        assert "40" in text(browser, "overview")
        assert browser.value("document.querySelectorAll('#timeline tbody tr').length") == 3
        # A commit of another process shows up by itself.
        browser.value("window.stayed = true")
        table.upsert(rows(range(100, 107), 3, ("paris",)))
        browser.until("document.querySelectorAll('#timeline tbody tr').length === 4")
        browser.until("document.querySelector('#overview').innerText.includes('47')")
        browser.until("document.querySelector('#partitions').innerText.includes('paris')")
        assert browser.value("window.stayed") is True
        assert browser.asked and all(address.startswith(here) for address in browser.asked)
        assert not browser.errors


def test_services_add_no_rows(tmp_path: Path, browser: Browser) -> None:
    table = create(tmp_path / "t")
    table.bulk_insert(rows(range(30), 1))
    table.bulk_insert(rows(range(30, 40), 2))
    assert table.cluster(columns=["ts"]) is not None
    with served(tmp_path / "t") as server:
        browser.show(1440, 900)
        browser.open(f"http://127.0.0.1:{server.port}/")
        browser.until("document.querySelectorAll('#growth svg').length")
        label = "document.querySelector('#growth svg').getAttribute('aria-label')"
        assert browser.value(label) == "Rows by commit of the 3 newest writes: 40 more"


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("width", [390, 1440])
def test_a_table_that_scrolls_ends_below_a_row(
    tmp_path: Path, browser: Browser, width: int
) -> None:
    """No row is cut in half."""
    table = create(tmp_path / "t")
    for n in range(18):
        table.upsert(rows(range(n, n + 2), 1))
    with served(tmp_path / "t") as server:
        browser.show(width, 900)
        browser.open(f"http://127.0.0.1:{server.port}/")
        browser.until("document.querySelectorAll('#timeline tbody tr').length >= 18")
        cut = browser.value(
            "(() => { const box = document.querySelector('#timeline .tall'), at = box.getBoundingClientRect(); "
            "const end = at.top + box.clientTop + box.clientHeight; return [...box.querySelectorAll('tr')].filter(row => { "
            "const r = row.getBoundingClientRect(); return r.top < end - 1 && r.bottom > end + 1; }).length; })()"
        )
        assert cut == 0
        scrolls = "document.querySelector('#timeline .tall').scrollHeight > 350"
        assert browser.value(scrolls)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_no_screen_is_too_narrow(tmp_path: Path, browser: Browser, width: int, dark: bool) -> None:
    table = create(tmp_path / "t", "MERGE_ON_READ", name="trips_of_a_long_name" * 4)
    table.upsert(rows(range(40), 1, ("a_very_long_partition_path" * 4, "rome")))
    table.upsert(rows(range(300, 340), 2))
    with served(tmp_path / "t") as server:
        browser.show(width, 900, dark)
        browser.open(f"http://127.0.0.1:{server.port}/")
        browser.until(_DRAWN)
        assert browser.value("document.documentElement.scrollWidth") <= width
        # Nothing sticks out of its card but what can be scrolled in it.
        out = browser.value(
            "[...document.querySelectorAll('section *')].filter(e => !e.closest('.scroll') && !e.closest('svg') && "
            "e.getBoundingClientRect().right > e.closest('section').getBoundingClientRect().right + 1).length"
        )
        assert out == 0
        ground = browser.value("getComputedStyle(document.body).backgroundColor")
        light = sum(map(int, ground.removeprefix("rgb(").removesuffix(")").split(","))) > 3 * 128
        assert light is not dark


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("width", [1440, 390])
def test_a_query_is_answered(
    tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr(query, "SECONDS", 400.0)
    create(tmp_path / "t").upsert(rows(range(40), 1))
    run = "document.querySelector('#ask-sql').requestSubmit()"
    with served(tmp_path / "t") as server:
        browser.errors.clear()
        browser.show(width, 900)
        browser.open(f"http://127.0.0.1:{server.port}/")
        browser.until("document.querySelector('#query')?.value")
        first = "SELECT * FROM trips LIMIT 20"
        assert browser.value("document.querySelector('#query').value") == first
        browser.value(run)
        browser.until("document.querySelectorAll('#sql tbody tr').length === 20", 300)
        assert "20 rows." in text(browser, "sql")
        browser.value("document.querySelector('#query').value = 'DELETE FROM trips'")
        browser.value(run)
        browser.until("document.querySelectorAll('#sql .error').length", 300)
        assert "Begin it with SELECT" in text(browser, "sql")
        assert browser.value("document.documentElement.scrollWidth") <= width
        assert not browser.errors


@pytest.mark.sampled(1, among="long")
def test_columns_that_are_not_shown_are_counted(
    tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query, "SECONDS", 400.0)
    wide = {"id": [1], **{f"c{n}": [n] for n in range(120)}}
    hoodoo.create(str(tmp_path / "t"), pa.table(wide), record_key="id", name="trips")
    with served(tmp_path / "t") as server:
        browser.show(1440, 900)
        browser.open(f"http://127.0.0.1:{server.port}/")
        browser.until("document.querySelector('#query')?.value")
        browser.value("document.querySelector('#ask-rows').requestSubmit()")
        browser.until("document.querySelectorAll('#rows td').length === 100")
        assert "The first 100 of 121 columns." in text(browser, "rows")
        browser.value("document.querySelector('#ask-sql').requestSubmit()")
        browser.until("document.querySelectorAll('#sql td').length === 100", 300)
        assert "The first 100 of 121 columns." in text(browser, "sql")


@pytest.mark.sampled(1, among="long")
def test_a_table_that_goes_away_is_said_and_comes_back(tmp_path: Path, browser: Browser) -> None:
    path, kept = tmp_path / "t", tmp_path / "kept"
    create(path).upsert(rows(range(4), 1))
    with served(path) as server:
        browser.show(1440, 900)
        browser.open(f"http://127.0.0.1:{server.port}/")
        browser.until(_DRAWN)
        path.rename(kept)
        browser.until("!document.querySelector('#banner').hidden")
        assert "What is shown below is old" in text(browser, "banner")
        assert "not connected" in text(browser, "state")
        kept.rename(path)
        browser.until("document.querySelector('#banner').hidden")
        shutil.rmtree(path)
        create(path, name="another").upsert(rows(range(9), 1))
        browser.until("document.querySelector('#name').textContent === 'another'")
        browser.until("document.querySelector('#overview').innerText.includes('9')")


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("width", [390, 1440])
def test_many_tables(tmp_path: Path, browser: Browser, width: int) -> None:
    create(tmp_path / f"team/{ODD}")
    for n in range(12):
        kind = "MERGE_ON_READ" if n % 2 else "COPY_ON_WRITE"
        create(tmp_path / f"team/t{n:02}", kind).upsert(rows(range(n + 1), 1))
    (tmp_path / "team/t05/.hoodie/hoodie.properties").unlink()
    browser.errors.clear()
    server = PageServer(ManyTables(str(tmp_path)))
    address = server.start()
    try:
        browser.show(width, 900)
        browser.open(address)
        browser.until("document.querySelector('#said')?.textContent === 'up to date'")
        names = (
            "[...document.querySelectorAll('#tables tbody tr')]"
            ".map(row => row.cells[0].querySelector('a, b').textContent)"
        )
        assert browser.value(names) == [f"team/{ODD}", *(f"team/t{n:02}" for n in range(12))]
        assert browser.value("document.querySelectorAll('img').length") == 0
        assert browser.value("document.documentElement.scrollWidth") <= width
        browser.value("by('by').value = 'rows'; by('by').dispatchEvent(new Event('change'))")
        assert browser.value(names)[:2] == ["team/t11", "team/t10"]
        browser.value("by('wrong').click()")
        assert browser.value(names) == ["team/t05"]
        browser.value("by('wrong').click()")
        browser.value("by('filter').value = 'T00'; by('filter').dispatchEvent(new Event('input'))")
        assert browser.value(names) == ["team/t00"]
        # A row opens the table, a commit its files; rows are there.
        browser.value("document.querySelector('#tables a').click()")
        browser.until("document.querySelectorAll('#timeline button.link').length")
        browser.until(_DRAWN)
        assert not browser.value("by('up').hidden")
        browser.value("document.querySelector('#timeline button.link').click()")
        browser.until("document.querySelectorAll('#commit td').length")
        assert ".parquet" in text(browser, "commit")
        browser.value(
            "by('where').value = 'id = 0'; document.querySelector('#ask-rows button').click()"
        )
        browser.until("document.querySelectorAll('#rows td').length")
        assert "oslo" in text(browser, "rows")
        assert browser.value("document.documentElement.scrollWidth") <= width
        assert not browser.errors
    finally:
        server.stop()
