"use strict";

const SOON = 1000, LATER = 10000; // milliseconds until the next question: while rows are made, and after

let known = null, mark = "", lost = false;
let order = "name", down = false;

// Each column: title, what rows are sorted by, what is shown, and whether the greatest comes first.
const of = (row) => row.summary || {};
const now = () => Date.now() / 1000;
const ago = (seconds) => (seconds === null || seconds === undefined ? "" : age(Math.max(0, now() - seconds)));
const count = (n) => (n ? whole(n) : "");
const COLUMNS = {
  name: ["table", (row) => row.name.toLowerCase(), named, false],
  bytes: ["size", (row) => of(row).bytes, (row) => (row.summary ? size(of(row).bytes) : "")],
  old: ["old", (row) => of(row).old_bytes / (of(row).bytes || 1), (row) => (of(row).old_bytes ? `${Math.round(100 * of(row).old_bytes / of(row).bytes)} %` : "")],
  rows: ["rows", (row) => of(row).rows, (row) => (row.summary && of(row).rows !== null ? whole(of(row).rows) : "")],
  week: ["7 days", (row) => of(row).week_bytes, (row) => (of(row).week_bytes ? size(of(row).week_bytes) : "")],
  files: ["files", (row) => of(row).base_files, (row) => count(of(row).base_files)],
  small: ["small", (row) => of(row).small_files, (row) => count(of(row).small_files)],
  logs: ["logs", (row) => of(row).log_files, (row) => count(of(row).log_files)],
  lag: ["to compact", (row) => of(row).compaction_lag, (row) => (of(row).compaction_lag ? `${whole(of(row).compaction_lag)}, ${ago(of(row).compaction_since)}` : "")],
  clustered: ["since clustering", (row) => of(row).clustering_lag ?? -1, (row) => (row.summary && of(row).clustering_lag !== null ? whole(of(row).clustering_lag) : "")],
  pending: ["pending", (row) => of(row).pending, (row) => (of(row).pending ? `${whole(of(row).pending)}, ${ago(of(row).oldest_pending_at)}` : "")],
  newest: ["newest commit", (row) => -(of(row).last_commit_at ?? 0), (row) => ago(of(row).last_commit_at)],
  findings: ["findings", (row) => (row.error ? 1000 : (of(row).findings || []).length), verdict],
  cost: ["cost", (row) => of(row).cost, (row) => (of(row).cost ? of(row).cost.toFixed(2) : "")],
};

function named(row) {
  const kind = row.type === "MERGE_ON_READ" ? "mor" : row.type ? "cow" : "";
  const title = row.error ? el("b", null, row.name) : el("a", { href: `table/${row.id}/`, title: row.path }, row.name);
  return el("div", { class: "table" }, title, kind ? el("span", { class: "kind" }, ` ${kind} ${row.version}`) : null,
    row.error ? el("p", { class: "note bad" }, row.error) : null,
    ...(of(row).findings || []).map((one) => el("p", { class: "note due" }, `${one.obj}: ${one.rule}. Fix: ${one.fix}.`)));
}

function verdict(row) {
  if (row.error) return badge(row.state, "bad");
  const found = (of(row).findings || []).length;
  return found ? badge(whole(found), "due") : row.made ? "" : el("span", { class: "plain" }, "…");
}

const columns = () => Object.entries(COLUMNS).filter(([key]) => key !== "cost" || known.prices);

function shownRows() {
  const text = by("filter").value.toLowerCase(), wrong = by("wrong").checked, value = COLUMNS[order][1];
  const rows = known.rows.filter((row) => row.name.toLowerCase().includes(text) && (!wrong || row.error || (of(row).findings || []).length));
  const rank = (row) => { const found = value(row); return found === null || found === undefined || Number.isNaN(found) ? -Infinity : found; };
  const greatest = COLUMNS[order][3] === undefined;
  const sign = greatest === down ? 1 : -1;
  return rows.map((row) => [rank(row), row]).sort(([a, x], [b, y]) => (a < b ? -sign : a > b ? sign : x.name < y.name ? -1 : 1)).map(([, row]) => row);
}

function heads() {
  return columns().map(([key, [title]]) => {
    const button = el("button", { type: "button", class: "sort", id: `by-${key}` }, title);
    button.addEventListener("click", () => { down = order === key ? !down : false; order = key; by("by").value = key; list(); });
    const sorted = order === key ? ((COLUMNS[key][3] === undefined) === down ? "ascending" : "descending") : null;
    return el("th", { scope: "col", class: key === "name" ? "" : "n", "aria-sort": sorted }, button);
  });
}

function list() {
  const rows = shownRows(), shape = columns();
  const body = rows.map((row) => el("tr", null, ...shape.map(([key, [title, , show]]) => {
    const cell = show(row);
    return el("td", { class: key === "name" ? "wrap" : "n", "data-title": cell === "" || key === "name" ? null : title }, cell);
  })));
  put("tables", rows.length
    ? el("div", { class: "scroll cards", role: "region", tabindex: "0", "aria-label": "Tables" },
      el("table", null, el("thead", null, el("tr", null, ...heads())), el("tbody", null, ...body)))
    : el("p", { class: "empty" }, known.rows.length ? "No table is like that." : known.listed ? "There are no tables." : "listing"));
}

function overview() {
  const tile = (value, what) => el("div", { class: "tile" }, el("b", null, value), el("span", null, what));
  const sum = (key) => known.rows.reduce((total, row) => total + (of(row)[key] || 0), 0);
  const found = known.rows.filter((row) => (of(row).findings || []).length).length, unread = known.rows.filter((row) => row.error).length;
  put("overview", tile(whole(known.rows.length), known.rows.length === 1 ? "table" : "tables"),
    tile(size(sum("bytes")), `in all, ${size(sum("old_bytes"))} of it old`),
    tile(size(sum("week_bytes")), "written in 7 days"),
    known.prices ? tile(sum("cost").toFixed(2), "a month") : null,
    tile(whole(found), "with findings"), tile(whole(unread), "can't be read"));
}

function health() {
  by("services").hidden = !known.health.length;
  put("services", ...known.health.map((one) => {
    if (one.error) return el("p", { class: "error" }, `${one.url}: ${one.error}`);
    const bad = Object.entries(one.tables).filter(([, said]) => !said.well);
    return el("div", null, el("p", null, el("code", null, one.url), " ", badge(one.well ? "well" : "not well", one.well ? "good" : "bad"),
      ` ${plural(Object.keys(one.tables).length, "table")}`),
    ...bad.slice(0, 20).map(([path, said]) => el("p", { class: "note bad" }, `${path}: ${(said.failed || []).join("; ") || "no round lately"}`)));
  }));
}

async function look() {
  try {
    const said = await ask(`api/tables?mark=${mark}`);
    const rows = said.rows || known.rows, fresh = Boolean(said.rows);
    known = { ...said, rows };
    mark = said.mark;
    lost = false;
    by("path").textContent = known.place;
    document.title = `${known.place} · hoodoo ui`;
    by("banner").hidden = !known.error;
    by("banner").textContent = known.error ? `${known.error} What is shown below is old.` : "";
    if (fresh) { overview(); list(); }
    health();
  } catch (error) {
    lost = true;
    by("banner").textContent = error instanceof Refusal ? error.message : "hoodoo ui does not answer: it has ended, or this machine was asleep.";
    by("banner").hidden = false;
  }
  const busy = known && (known.waiting || !known.listed);
  by("state").className = `state ${lost ? "lost" : busy ? "waiting" : ""}`;
  by("said").textContent = lost ? "not connected" : !known || !known.listed ? "listing" : known.waiting ? `${whole(known.waiting)} tables to look at` : "up to date";
  return busy;
}

for (const [key, [title]] of Object.entries(COLUMNS)) by("by").append(el("option", { value: key }, title));
by("by").addEventListener("change", () => { order = by("by").value; down = false; if (known) list(); });
by("filter").addEventListener("input", () => known && list());
by("wrong").addEventListener("change", () => known && list());
async function turn() {
  const busy = document.hidden ? false : await look();
  setTimeout(turn, busy ? SOON : LATER);
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
turn();
