"use strict";
// Texts of the table get on the page as text nodes and attributes only, never as markup.

const EVERY = 3000; // milliseconds between two looks

const width = (id) => Math.max(240, by(id).querySelector(".body").clientWidth);

// A step of 1, 2 or 5 times a power of ten, so that about `most` of them reach `top`.
function step(top, most) {
  const rough = top / most, power = 10 ** Math.floor(Math.log10(rough || 1));
  return Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) || rough);
}

// Columns of stacked parts, and, as a line on a scale of its own, their sum so far.
function columns(id, label, groups, kinds, format, line) {
  const W = width(id), H = 150, left = 48, right = line ? 48 : 8, top = 10, bottom = 20;
  const across = W - left - right, tall = H - top - bottom;
  const highest = Math.max(1, ...groups.map((g) => g.parts.reduce((a, b) => a + b, 0)));
  const svg = draw("svg", { viewBox: `0 0 ${W} ${H}`, height: H, role: "img", "aria-label": label });
  const by1 = step(highest, 3), end = Math.ceil(highest / by1) * by1;
  for (let at = 0; at <= end; at += by1) {
    const y = top + tall * (1 - at / end);
    svg.append(draw("line", { class: "grid", x1: left, x2: W - right, y1: y, y2: y }),
      draw("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, format(at)));
  }
  const slot = across / groups.length, wide = Math.max(1, Math.min(38, slot * 0.74));
  groups.forEach((group, n) => {
    let y = top + tall;
    group.parts.forEach((part, kind) => {
      if (!part) return;
      const h = Math.max(1, tall * part / end);
      y -= h;
      svg.append(draw("rect", { class: kinds[kind], x: left + slot * (n + 0.5) - wide / 2, y, width: wide, height: h }));
    });
  });
  if (line && groups.length > 1) {
    const least = Math.min(0, ...line), most = Math.max(1, ...line), span = most - least;
    const place = (value) => top + tall * (1 - (value - least) / span);
    svg.append(draw("polyline", { class: "sum", points: line.map((v, n) => `${left + slot * (n + 0.5)},${place(v)}`).join(" ") }),
      draw("text", { x: W - right + 6, y: place(most) + 4 }, format(most)),
      draw("text", { x: W - right + 6, y: place(least) + 4 }, format(least)));
  }
  groups.forEach((group, n) => svg.append(draw("rect", { class: "hit", x: left + slot * n, y: top, width: slot, height: tall },
    draw("title", null, group.title))));
  ends(svg, groups.map((g) => g.at), left, W - right, H - 5);
  return svg;
}

function ends(svg, labels, left, right, y) {
  if (!labels.length) return;
  const room = (right - left) / 14; // letters that each of both may have
  labels = labels.map((text) => (text.length <= room ? text : /^\d{4}-\d\d-\d\d /.test(text) ? text.slice(5, 16) : `${text.slice(0, room - 1)}…`));
  svg.append(draw("text", { x: left, y }, labels[0]));
  if (labels.length > 1) svg.append(draw("text", { x: right, y, "text-anchor": "end" }, labels[labels.length - 1]));
}

// --- sections ---------------------------------------------------------------------------------
let live = null, known = null, seen = null;
const KINDS = ["f-blue", "f-orange", "f-purple"];

function overview(stats) {
  const tile = (value, what) => el("div", { class: "tile" }, el("b", null, value), el("span", null, what));
  put("overview",
    tile(stats.rows === null ? "not counted" : whole(stats.rows),
      stats.log_files.count ? "rows in base files, without logs" : "rows"),
    tile(size(stats.newest_bytes), `in the newest slices, of ${size(stats.bytes)} in all`),
    tile(whole(stats.file_groups), `file group${stats.file_groups === 1 ? "" : "s"} in ${plural(stats.partitions, "partition")}`),
    tile(whole(stats.small_files), `small file${stats.small_files === 1 ? "" : "s"}, below ${size(stats.small_file_limit)}`),
    tile(whole(stats.log_files.count), `log files, ${size(stats.log_files.bytes)}`),
    tile(stats.written.amplification === null ? "–" : stats.written.amplification.toFixed(1), "write amplification"));
  const sizes = (s) => s.count ? `${whole(s.count)}; ${size(s.smallest)} to ${size(s.largest)}, median ${size(s.median)}` : "none";
  put("statistics", facts([
    ["Record count", stats.rows === null ? "not counted: too many footers to open" : whole(stats.rows)],
    ["Table", `${stats.table_type.toLowerCase().replaceAll("_", " ")}, version ${stats.table_version}`],
    ["Indexes", known && known.metadata_partitions.length ? known.metadata_partitions.join(", ") : "no metadata table"],
    ["Slices", `${whole(stats.slices)}, ${stats.slices_per_group === null ? "–" : stats.slices_per_group.toFixed(1)} for each file group`],
    ["Base files", sizes(stats.base_files)], ["Log files", sizes(stats.log_files)],
    ["Newest slices", size(stats.newest_bytes)], ["Older slices", size(stats.older_bytes)],
    ["Replaced groups", size(stats.replaced_bytes)], ["Not completed", size(stats.uncommitted_bytes)],
    ["Written", `${plural(stats.written.commits, "commit")} of the active timeline: ${size(stats.written.bytes)}`],
    ["Changed", `${plural(stats.written.changed_rows, "row")}, about ${size(stats.written.changed_bytes)}`],
  ]));
}

function timeline(page) {
  const rows = page.rows;
  if (!rows.length) return put("timeline", el("p", { class: "empty" }, "Nothing has been written yet."));
  const before = seen;
  seen = new Set(rows.map((row) => row.requested + row.state));
  put("timeline", lanes(rows),
    legend([["completed; the height is the duration", "f-blue"], ["pending", "pending"]]),
    table("Instants, the newest first",
      [["instant (UTC)", ""], ["action", ""], ["state", ""], ["took", "n"], ["operation", ""], ["inserted", "n"],
        ["updated", "n"], ["deleted", "n"], ["files", "n"], ["size", "n"], ["detail", "wrap"]],
      rows.map((row) => ({
        fresh: before && !before.has(row.requested + row.state),
        cells: [opener(row), row.action,
          badge(row.archived ? "archived" : row.state, row.state === "completed" ? (row.archived ? "plain" : "good") : "due"),
          took(row) === null ? "" : age(took(row)), row.operation, shown(row.inserted), about(row, row.updated),
          about(row, row.deleted), shown(row.files), row.bytes ? size(row.bytes) : "", row.detail],
      })), "tall"),
    rows.some((row) => row.unmerged) ? note("~ as written to log files; readers merge these rows with the stored ones.") : null,
    rows.length < page.total ? note(`${whole(page.total - rows.length)} older instants are not shown.`) : null);
}

// --- a commit, and rows -----------------------------------------------------------------------
function opener(row) {
  const text = when(row.began, row.requested);
  if (!row.files && row.state === "completed") return el("span", { title: row.requested }, text);
  const button = el("button", { type: "button", class: "link", title: `${row.requested}: its files` }, text);
  button.addEventListener("click", () => commit(row));
  return button;
}

async function commit(row) {
  const section = by("commit"), close = el("button", { type: "button" }, "Close");
  close.addEventListener("click", () => { section.hidden = true; by("timeline").scrollIntoView(); });
  section.hidden = false;
  by("h-commit").textContent = `${row.action} ${row.requested}`;
  put("commit", note("asking"));
  section.scrollIntoView({ block: "nearest" });
  try {
    const found = await ask(`api/commit?instant=${encodeURIComponent(row.requested)}&action=${encodeURIComponent(row.action)}`);
    const rows = found.files.map((one) => ({ cells: [one.partition || "–", one.file, shown(one.rows), shown(one.inserted),
      about(one, one.updated), about(one, one.deleted), one.bytes ? size(one.bytes) : ""] }));
    put("commit",
      facts([["Operation", found.operation || found.action], ["State", found.state], ["Files", whole(found.total)],
        ...found.facts.map(([name, value]) => [name, value])]),
      rows.length ? table("Files", [["partition", "wrap"], ["file", "id"], ["rows", "n"], ["inserted", "n"], ["updated", "n"],
        ["deleted", "n"], ["size", "n"]], rows, "tall") : note("It names no file."),
      rows.length < found.total ? note(`${whole(found.total - rows.length)} more files are not shown.`) : null, close);
  } catch (error) {
    put("commit", el("p", { class: "error" }, error.message), close);
  }
  section.scrollIntoView({ block: "nearest" });
}

const cut = (found) => (found.columns.length < found.all_columns
  ? note(`The first ${whole(found.columns.length)} of ${plural(found.all_columns, "column")}.`) : null);

async function preview() {
  put("rows", note("reading"));
  try {
    const found = await ask(`api/rows?limit=${by("rows-limit").value}&where=${encodeURIComponent(by("where").value)}`);
    put("rows", found.rows.length
      ? table("Rows", found.columns.map((name, n) => [name, found.numeric[n] ? "n" : ""]), found.rows.map((cells) => ({ cells })), "tall")
      : note("No rows."), cut(found));
  } catch (error) {
    put("rows", el("p", { class: "error" }, error.message));
  }
}

function lanes(rows) {
  const W = width("timeline"), lane = 34, left = 100, right = 6;
  const old = [...rows].reverse(), actions = [...new Set(old.map((row) => row.action))];
  const H = actions.length * lane + 20;
  const label = `${plural(rows.length, "instant")}: ${actions.map((a) => `${a} ${old.filter((r) => r.action === a).length}`).join(", ")}`;
  const svg = draw("svg", { viewBox: `0 0 ${W} ${H}`, height: H, role: "img", "aria-label": label });
  const slot = (W - left - right) / old.length, wide = Math.max(1.5, Math.min(22, slot * 0.78));
  const scale = (s) => Math.log10(1 + 10 * s);
  const longest = Math.max(0.01, ...old.map((row) => scale(took(row) || 0)));
  actions.forEach((action, n) => {
    const y = (n + 1) * lane;
    svg.append(draw("line", { class: "grid", x1: left, x2: W - right, y1: y, y2: y }), draw("text", { x: 0, y: y - 6 }, action));
  });
  old.forEach((row, n) => {
    const base = (actions.indexOf(row.action) + 1) * lane, done = row.state === "completed";
    const h = done ? Math.max(4, (lane - 6) * scale(took(row) || 0) / longest) : lane - 8;
    const what = `${when(row.began, row.requested)} ${row.action}, ${row.state}` +
      `${took(row) === null ? "" : `, ${age(took(row))}`}${row.operation ? `, ${row.operation}` : ""}${row.detail ? `, ${row.detail}` : ""}`;
    svg.append(draw("rect", { class: done ? (row.archived ? "f-grey" : "f-blue") : "pending", rx: 1,
      x: left + slot * (n + 0.5) - wide / 2, y: base - h, width: wide, height: h }, draw("title", null, what)));
  });
  ends(svg, old.map((row) => when(row.began, row.requested)), left, W - right, H - 4);
  return svg;
}

// Of rows in log files it is known when they are merged whether they win.
const about = (row, number) => number && row.unmerged ? `~${shown(number)}` : shown(number);

function growth(page) {
  const rows = page.rows.filter((row) => row.state === "completed" && row.operation).reverse();
  if (!rows.length) return put("growth", el("p", { class: "empty" }, "Nothing has been written yet."));
  let net = 0, written = 0;
  const nets = [], sums = [];
  const changed = (row) => [row.inserted, row.updated, row.deleted];
  for (const row of rows) {
    const [inserted, , deleted] = changed(row);
    net += inserted - deleted; written += row.bytes;
    nets.push(net); sums.push(written);
  }
  const title = (row) => `${when(row.began, row.requested)} ${row.operation}: ${whole(row.inserted)} inserted, ${whole(row.updated)} updated, ${whole(row.deleted)} deleted, ${size(row.bytes)}`;
  const group = (row, parts) => ({ parts, title: title(row), at: when(row.began, row.requested) });
  const of = `of the ${plural(rows.length, "newest write")}`;
  put("growth",
    el("h3", null, "Rows by commit"),
    columns("growth", `Rows by commit ${of}: ${whole(net)} more`, rows.map((r) => group(r, changed(r))), KINDS, short, nets),
    legend([["inserted", "f-blue"], ["updated", "f-orange"], ["deleted", "f-purple"], ["inserted less deleted, summed up", "line"]]),
    el("h3", null, "Bytes by commit"),
    columns("growth", `Bytes by commit ${of}: ${size(written)}`, rows.map((r) => group(r, [r.bytes])), ["f-green"], (n) => edge(n), sums),
    legend([["written", "f-green"], ["summed up", "line"]]),
    note(`${of[0].toUpperCase()}${of.slice(1)}. Rows of a partition that was replaced count as inserted only; those of services do not count.`));
}

function files(found) {
  if (!found.bins.length) return put("files", el("p", { class: "empty" }, "There are no files yet."));
  const limit = known && known.small;
  const W = width("files"), H = 190, left = 44, top = 22, bottom = 36, tall = H - top - bottom;
  const most = Math.max(1, ...found.bins.map((bin) => Math.max(bin.base, bin.logs)));
  const by1 = step(most, 3), end = Math.ceil(most / by1) * by1;
  const svg = draw("svg", { viewBox: `0 0 ${W} ${H}`, height: H, role: "img",
    "aria-label": `File sizes: ${found.bins.filter((b) => b.base).map((b) => `${b.base} from ${edge(b.low)}`).join(", ")}` });
  for (let at = 0; at <= end; at += by1) {
    const y = top + tall * (1 - at / end);
    svg.append(draw("line", { class: "grid", x1: left, x2: W, y1: y, y2: y }),
      draw("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, short(at)));
  }
  // A table whose files are of one size would be one broad block.
  const slot = Math.min(110, (W - left) / found.bins.length);
  const rare = Math.ceil(58 / slot);
  found.bins.forEach((bin, n) => {
    const wide = slot * 0.4;
    [[bin.base, "f-blue"], [bin.logs, "f-orange"]].forEach(([count, kind], at) => {
      if (!count) return;
      const h = Math.max(2, tall * count / end);
      svg.append(draw("rect", { class: kind, x: left + slot * n + slot * 0.08 + at * (wide + 1), y: top + tall - h, width: wide, height: h }));
    });
    svg.append(draw("rect", { class: "hit", x: left + slot * n, y: top, width: slot, height: tall },
      draw("title", null, `${edge(bin.low)} to ${edge(bin.high)}: ${plural(bin.base, "base file")}, ${plural(bin.logs, "slice")} with log files`)));
    if (n % rare === 0) svg.append(draw("text", { x: left + slot * n, y: H - bottom + 16 }, edge(bin.low)));
  });
  const first = found.bins[0].low, at = found.bins.findIndex((bin) => limit >= bin.low && limit < bin.high);
  const beyond = limit >= found.bins[found.bins.length - 1].high;
  if (limit > first && at >= 0) {
    const bin = found.bins[at], x = left + slot * (at + (limit - bin.low) / (bin.high - bin.low));
    const over = x > W - 90;
    svg.append(draw("line", { class: "limit", x1: x, x2: x, y1: top - 8, y2: top + tall }),
      draw("text", { x: over ? x - 4 : x + 4, y: top - 10, "text-anchor": over ? "end" : "start" }, `small below ${edge(limit)}`));
  }
  put("files", svg, legend([["base files", "f-blue"], ["log files of a slice", "f-orange"]]),
    beyond ? note(`All base files are small: below ${size(limit)}.`) : null,
    el("details", null, el("summary", null, "The smallest base files"),
      table("The smallest base files", [["size", "n"], ["partition", ""], ["file group", "id"], ["instant", "id"]],
        found.smallest.map((row) => ({ cells: [size(row.base_bytes), row.partition || "–", row.file_id, row.instant] })), "tall")));
}

let offset = 0;
function partitions(found) {
  if (!found.total) return put("partitions", el("p", { class: "empty" }, by("prefix").value ? "No partition begins so." : "There are no files yet."));
  const rows = found.rows.map((row) => ({ cells: [row.partition || "(not partitioned)", whole(row.rows), size(row.bytes),
    share(row.bytes, found.largest), whole(row.file_groups), shown(row.small_files), row.log_files ? size(row.log_bytes) : ""] }));
  const back = el("button", { type: "button", id: "back" }, "Back"), on = el("button", { type: "button", id: "on" }, "Next");
  back.disabled = offset === 0; on.disabled = offset + found.rows.length >= found.total;
  back.addEventListener("click", () => { offset = Math.max(0, offset - PAGE); load("partitions", true); });
  on.addEventListener("click", () => { offset += PAGE; load("partitions", true); });
  put("partitions", table("Partitions", [["partition", "wrap"], ["rows", "n"], ["size", "n"], ["", ""], ["groups", "n"], ["small", "n"], ["logs", "n"]], rows, "tall"),
    found.total > PAGE ? el("div", { class: "pager" }, back, on, `${whole(offset + 1)} to ${whole(offset + found.rows.length)} of ${whole(found.total)}`) : null);
}
const PAGE = 50;
function share(part, of) {
  const bar = el("i");
  bar.style.width = `${of ? Math.max(1, 100 * part / of) : 0}%`;
  return el("span", { class: "share", "aria-hidden": "true" }, bar);
}

function layout(found) {
  if (!found.known) return put("layout", el("p", { class: "empty" }, found.figures.unknown ? "No file says its least and greatest value of this column." : "There are no files yet."));
  const W = width("layout"), left = 6, right = 6, top = 6;
  const thick = Math.max(1, Math.min(14, Math.floor(260 / found.bars.length)));
  const tall = thick * found.bars.length, H = top + tall + 22, across = W - left - right;
  const f = found.figures;
  const svg = draw("svg", { viewBox: `0 0 ${W} ${H}`, height: H, role: "img",
    "aria-label": `Ranges of ${found.column} in ${plural(found.known, "file")}: a value is in ${f.depth.toFixed(1)} files on average` });
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    const x = left + across * part;
    svg.append(draw("line", { class: "grid", x1: x, x2: x, y1: top, y2: top + tall }));
  }
  found.bars.forEach((bar, n) => {
    const x = left + across * bar.from, wide = Math.max(2, across * (bar.to - bar.from));
    svg.append(draw("rect", { class: "f-blue", x: Math.min(x, W - right - 2), y: top + n * thick, width: wide, height: Math.max(1, thick * 0.76) },
      draw("title", null, `${bar.partition ? `${bar.partition}/` : ""}${bar.file_id}: ${bar.least} to ${bar.greatest}, ${size(bar.bytes)}`)));
  });
  ends(svg, [found.least, found.greatest], left, W - right, H - 4);
  put("layout", svg,
    note(`A bar for each file: from its least to its greatest value. ${found.bars.length < found.known ? `${whole(found.bars.length)} of ${whole(found.known)} files are drawn. ` : ""}` +
      `A value is in ${f.depth.toFixed(1)} of ${plural(f.files + f.unknown, "file")} on average, ${whole(f.deepest)} at most; ${Math.round(100 * f.overlapping)} % of the pairs of files overlap.` +
      `${f.unknown ? ` ${plural(f.unknown, "file")} with unknown values.` : ""}${found.scale === "rank" ? " Values are in their order, not to scale." : ""}`));
}

const WRITERS = { lives: "good", seen: "good", planned: "plain", silent: "due", gone: "bad" };
const SAYS = { lives: "alive", seen: "seen lately", planned: "planned", silent: "silent", gone: "gone" };
function services(now) {
  const who = (one) => [one.host, one.pid].filter((part) => part !== null).join(", process ");
  const sign = (one) => (one.sign === null ? "none" : `${age(one.sign)} ago`);
  const parts = [el("h3", null, "Pending instants")];
  parts.push(now.pending.length
    ? table("Pending instants", [["instant", "id"], ["action", ""], ["state", ""], ["age", "n"], ["writer", ""], ["sign of life", "n"], ["where", ""]],
      now.pending.map((one) => ({ cells: [one.requested, one.action, badge(one.state, "due"), age(one.age), badge(SAYS[one.writer], WRITERS[one.writer]), sign(one), who(one)] })))
    : note("Nothing is pending."));
  if (now.pending.length < now.pending_total) parts.push(note(`${whole(now.pending_total - now.pending.length)} more are pending.`));
  if (now.pending.some((one) => one.writer === "gone")) parts.push(note("A writer that is gone left its instant behind: the next write undoes it, hoodoo rollback does it now."));
  parts.push(el("h3", null, "Locks"));
  parts.push(now.locks.length
    ? table("Locks", [["lock", ""], ["holder", ""], ["sign of life", "n"], ["where", ""]],
      now.locks.map((one) => ({ cells: [one.name === "services" ? "services (hoodoo serve)" : one.name, badge(SAYS[one.writer], WRITERS[one.writer]), sign(one), who(one)] })))
    : note("No process holds a lock; none serves this table."));
  for (const one of now.health) {
    parts.push(el("h3", null, "hoodoo serve at ", el("code", null, one.url)));
    if (one.error) { parts.push(el("p", { class: "error" }, one.error)); continue; }
    parts.push(table("Tables that are served", [["table", "wrap"], ["", ""], ["role", ""], ["last look", "n"], ["failed", "wrap"]],
      Object.entries(one.tables).map(([path, said]) => ({ cells: [path, badge(said.well ? "well" : "not well", said.well ? "good" : "bad"),
        said.role, `${age(said.seconds_since_last_round)} ago`, (said.failed || []).join("; ")] }))));
  }
  put("services", ...parts);
}

function properties(found) {
  known = { ...known, ...found };
  document.title = `${found.name} · hoodoo ui`;
  by("name").textContent = found.name || found.path;
  by("path").textContent = found.path;
  const plain = /^[A-Za-z_]\w*$/.test(found.name), named = plain ? found.name : `\`${found.name.replaceAll("`", "``")}\``;
  if (!by("query").value) by("query").value = `SELECT * FROM ${named} LIMIT 20`;
  by("kind").textContent = `${found.table_type.toLowerCase().replaceAll("_", " ")}, version ${found.table_version}`;
  const list = by("column"), wanted = list.value || found.layout_column;
  const names = found.columns.filter((column) => column.ordered).map((column) => column.name);
  list.replaceChildren(...names.map((name) => el("option", { value: name }, name)));
  if (names.includes(wanted)) list.value = wanted;
  const many = (names) => names.join(", ") || "–";
  put("properties",
    facts([["Record key", many(found.record_key)], ["Partitioned by", many(found.partition_by)], ["Ordering", many(found.ordering)],
      ["Metadata table", many(found.metadata_partitions)]]),
    el("div", { class: "two" },
      el("div", null, el("h3", null, "Columns"), table("Columns", [["column", "wrap"], ["type", "wrap"]], found.columns.map((c) => ({ cells: [c.name, c.type] })), "tall")),
      el("div", null, el("h3", null, "Properties"), table("Properties", [["key", ""], ["value", "wrap"]],
        Object.entries(found.properties).map(([key, value]) => ({ cells: [el("code", null, key), value] })), "tall"))));
}

// --- asking -----------------------------------------------------------------------------------
// What each section asks for, and draws. `mark` is the state of the timeline that it shows.
const SECTIONS = {
  table: { ask: () => "api/table", show: properties, at: "properties" },
  stats: { ask: () => "api/stats", show: (found) => { known = { ...known, small: found.small_file_limit }; overview(found); }, at: "statistics" },
  timeline: { ask: () => `api/timeline?limit=${by("timeline-limit").value}${by("archived").checked ? "&archived=1" : ""}`,
    show: (page) => { timeline(page); growth(page); }, at: "timeline" },
  files: { ask: () => "api/files", show: files, at: "files" },
  partitions: { ask: () => `api/partitions?order=${by("order").value}&limit=${PAGE}&offset=${offset}&prefix=${encodeURIComponent(by("prefix").value)}`,
    show: partitions, at: "partitions" },
  layout: { ask: () => (by("column").value ? `api/layout?column=${encodeURIComponent(by("column").value)}` +
      (by("layout-partition").value ? `&partition=${encodeURIComponent(by("layout-partition").value)}` : "") : null), show: layout, at: "layout" },
};
for (const one of Object.values(SECTIONS)) Object.assign(one, { mark: null, busy: false, found: null, again: false });

async function load(name, anew) {
  const one = SECTIONS[name], path = one.ask();
  if (!path) return;
  if (one.busy) { one.again = one.again || anew; return; }
  one.busy = true;
  try {
    const found = await ask(path);
    Object.assign(one, { found, mark: found.mark });
    one.show(found);
  } catch (error) {
    if (!(error instanceof Refusal)) return; // the process has ended: look() says it
    one.found = null;
    one.mark = live && live.mark;
    put(one.at, el("p", { class: "error" }, error.message));
  } finally {
    one.busy = false;
    if (one.again) { one.again = false; load(name, true); }
  }
}

let lost = false;
async function look() {
  try {
    const now = await ask("api/live");
    if (lost) for (const one of Object.values(SECTIONS)) one.mark = null;
    const fresh = live && now.mark !== live.mark && now.newest;
    live = now; lost = false;
    by("banner").hidden = true;
    services(now);
    if (fresh) by("news").textContent = `${now.newest.action} ${now.newest.requested}: ${now.newest.state}`;
    for (const name of ["table", "stats", "timeline", "files", "partitions", "layout"]) {
      if (SECTIONS[name].mark !== now.mark) await load(name);
    }
  } catch (error) {
    lost = true;
    by("banner").textContent = error instanceof Refusal ? `${error.message} What is shown below is old.` : "hoodoo ui does not answer: it has ended, or this machine was asleep. What is shown below is old.";
    by("banner").hidden = false;
  }
  state();
}

async function query() {
  const button = by("ask-sql").querySelector("button");
  if (button.disabled) return;
  button.disabled = true;
  put("sql", note("running"));
  try {
    const found = await ask(`api/sql?text=${encodeURIComponent(by("query").value)}`), more = found.total - found.rows.length;
    put("sql", found.rows.length
      ? table("Answer", found.columns.map((name, n) => [name, found.numeric[n] ? "n" : ""]), found.rows.map((cells) => ({ cells })), "tall")
      : note("No rows."),
      note(more ? `The first ${whole(found.rows.length)} of ${plural(found.total, "row")}.` : `${plural(found.total, "row")}.`), cut(found));
  } catch (error) {
    put("sql", el("p", { class: "error" }, error.message));
  }
  button.disabled = false;
}

function state() {
  by("state").className = `state ${lost ? "lost" : document.hidden ? "waiting" : ""}`;
  const pending = live && live.pending_total ? `, ${whole(live.pending_total)} pending` : "";
  by("said").textContent = lost ? "not connected" : live ? `live: ${plural(live.instants, "instant")}${pending}` : "connecting";
}

function again() { for (const one of Object.values(SECTIONS)) if (one.found) one.show(one.found); }

if (/\/table\/[^/]+\/$/.test(location.pathname)) by("up").hidden = false;
by("ask-rows").addEventListener("submit", (event) => { event.preventDefault(); preview(); });
by("ask-sql").addEventListener("submit", (event) => { event.preventDefault(); query(); });
by("query").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); query(); } });
let resized = 0;
window.addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(again, 150); });
for (const id of ["archived", "timeline-limit"]) by(id).addEventListener("change", () => { seen = null; load("timeline", true); });
let typed = 0;
const later = (call) => { clearTimeout(typed); typed = setTimeout(call, 250); };
by("order").addEventListener("change", () => { offset = 0; load("partitions", true); });
by("prefix").addEventListener("input", () => later(() => { offset = 0; load("partitions", true); }));
by("column").addEventListener("change", () => load("layout", true));
by("layout-partition").addEventListener("input", () => later(() => load("layout", true)));
document.addEventListener("visibilitychange", () => { state(); if (!document.hidden) once(); });

let looking = false;
async function once() {
  if (document.hidden || looking) return;
  looking = true;
  try { await look(); } finally { looking = false; }
}
async function turn() {
  await once();
  setTimeout(turn, EVERY);
}
turn();
