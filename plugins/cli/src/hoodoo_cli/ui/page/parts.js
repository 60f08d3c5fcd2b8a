"use strict";
// Texts of the table get on the page as text nodes and attributes only, never as markup.

// What the page of a table and that of many are made of.

const SVG = "http://www.w3.org/2000/svg";
const by = (id) => document.getElementById(id);

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  for (const child of children) {
    if (child !== null && child !== undefined) node.append(child);
  }
  return node;
}
const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const draw = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

// --- numbers for people -----------------------------------------------------------------------
const whole = (n) => (n === null || n === undefined ? "–" : n.toLocaleString("en-US"));
const shown = (n) => (n ? whole(n) : "");
const plural = (n, what) => `${whole(n)} ${what}${n === 1 ? "" : "s"}`;

function size(bytes) {
  if (bytes === null || bytes === undefined) return "–";
  const units = ["B", "KB", "MB", "GB", "TB", "PB"];
  let unit = 0, value = bytes;
  while (value >= 999.5 && unit < units.length - 1) { value /= 1000; unit += 1; }
  return `${unit === 0 ? value : value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${units[unit]}`;
}

function edge(bytes) {
  return size(bytes).replace(/\.0+ /, " ").replace(/(\.\d*?)0+ /, "$1 ");
}

function short(n) {
  const units = ["", "k", "M", "G", "T"];
  let unit = 0, value = n;
  while (Math.abs(value) >= 1000 && unit < units.length - 1) { value /= 1000; unit += 1; }
  return `${Number(value.toPrecision(3))}${units[unit]}`;
}

function age(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  for (const [unit, length] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (seconds >= length) return `${Math.floor(seconds / length)} ${unit}`;
  }
  return seconds < 10 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds)} s`;
}

function when(seconds, instant) {
  if (seconds === null || seconds === undefined) return instant || "–";
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
}
const took = (row) => (row.began === null || row.ended === null ? null : Math.max(0, row.ended - row.began));

// --- parts ------------------------------------------------------------------------------------
function table(label, columns, rows, kind) {
  const head = el("tr", null, ...columns.map(([name, side]) => el("th", { scope: "col", class: side }, name)));
  const body = rows.map(({ cells, fresh }) => el("tr", { class: fresh ? "fresh" : null },
    ...cells.map((cell, n) => el("td", { class: columns[n][1] }, cell === null || cell === undefined ? "" : cell))));
  return el("div", { class: `scroll ${kind || ""}`, role: "region", tabindex: "0", "aria-label": label },
    el("table", null, el("thead", null, head), el("tbody", null, ...body)));
}
const badge = (text, kind) => el("span", { class: `badge ${kind}` }, text);
const note = (text) => el("p", { class: "note" }, text);
const facts = (pairs) => el("dl", null, ...pairs.flatMap(([name, value]) => [el("dt", null, name), el("dd", null, value)]));
function legend(entries) {
  return el("div", { class: "legend" }, ...entries.map(([text, kind]) => el("span", null, el("i", { class: kind }), text)));
}
function put(id, ...children) {
  const body = by(id).querySelector(".body");
  const open = [...body.querySelectorAll("details")].map((one) => one.open);
  const at = [...body.querySelectorAll(".scroll")].map((one) => [one.scrollLeft, one.scrollTop]);
  const focused = body.contains(document.activeElement) && document.activeElement.id;
  body.replaceChildren(...children.filter((child) => child));
  body.querySelectorAll("details").forEach((one, n) => { if (open[n]) one.open = true; });
  body.querySelectorAll(".scroll").forEach((one, n) => { if (at[n]) [one.scrollLeft, one.scrollTop] = at[n]; });
  if (focused && by(focused)) by(focused).focus();
  body.querySelectorAll(".tall").forEach(wholeRows);
  body.querySelectorAll("details").forEach((one) => one.addEventListener("toggle", () => one.querySelectorAll(".tall").forEach(wholeRows)));
}

// A table that scrolls ends below a row, not within one.
function wholeRows(box) {
  box.style.maxHeight = "";
  const high = box.clientHeight, top = box.getBoundingClientRect().top + box.clientTop - box.scrollTop;
  if (!high || box.scrollHeight <= high + 1) return;
  const ends = [...box.querySelectorAll("tr")].map((row) => row.getBoundingClientRect().bottom - top).filter((end) => end <= high);
  if (ends.length > 1) box.style.maxHeight = `${Math.max(...ends) + box.offsetHeight - high}px`;
}

// --- asking -----------------------------------------------------------------------------------
class Refusal extends Error {
  constructor(said) {
    super([said.obj, said.rule].filter(Boolean).join(": ") + (said.fix ? `. ${said.fix}` : ""));
  }
}

async function ask(path) {
  const answer = await fetch(path, { headers: { Accept: "application/json" } });
  const said = await answer.json();
  if (!answer.ok) throw new Refusal(said);
  return said;
}
