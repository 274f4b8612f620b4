// Finds words, shows and keeps slices, and sorts the table of a report. Everything it holds can be read without it.
"use strict";

/** @typedef {{counts: number[], near: (number[] | null)[]}} Held */
/** @type {{labels: string[], words: string[], pages: Record<string, Held>}} */
const held = JSON.parse(document.getElementById("data")?.textContent ?? "{}");
/** @type {Map<string, Held>} Not an object: words such as "constructor" are in every object. */
const pages = new Map(Object.entries(held.pages));
const box = /** @type {HTMLInputElement} */ (document.getElementById("q"));
const answer = /** @type {HTMLElement} */ (document.getElementById("answer"));

/** @param {string} word */
const nameOf = (word) => "word-" + encodeURIComponent(word).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());

/**
 * Count the letters that must be changed, added, dropped or swapped to make one word of another.
 * @param {string} a
 * @param {string} b
 */
function apart(a, b) {
  /** @type {number[][]} */
  const rows = [[...Array(b.length + 1).keys()]];
  for (let i = 1; i <= a.length; i++) {
    rows[i] = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      rows[i][j] = Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) rows[i][j] = Math.min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.length][b.length];
}

/** @param {string} asked */
function find(asked) {
  const words = [...pages.keys()];
  const near = words.map((word) => ({ word, far: apart(asked, word) })).sort((x, y) => x.far - y.far)[0];
  return (
    words.find((word) => word === asked) ??
    words.find((word) => word.startsWith(asked)) ??
    (near && near.far <= Math.max(1, Math.floor(asked.length / 3)) ? near.word : undefined)
  );
}

box.addEventListener("input", () => (answer.textContent = ""));
box.addEventListener("change", () => {
  const asked = box.value.trim().toLowerCase();
  if (!asked) return;
  const found = find(asked);
  const words = pages.size;
  answer.textContent = found === undefined ? `“${asked}” is not among the ${words} words of this report.` : found === asked ? "" : `${asked} → ${found}`;
  if (found !== undefined) {
    location.hash = encodeURIComponent(nameOf(found));
    box.value = "";
  }
});

/**
 * @param {string} word
 * @param {string} slice
 * @returns {Near | undefined}
 */
function nearIn(word, slice) {
  const t = held.labels.indexOf(slice);
  const page = pages.get(word);
  return page && { slice, count: page.counts[t], neighbors: (page.near[t] ?? []).map((w) => held.words[w]) };
}

/** @param {string} word */
function linked(word) {
  if (!pages.has(word)) return document.createTextNode(word);
  const link = document.createElement("a");
  link.href = "#" + encodeURIComponent(nameOf(word));
  link.textContent = word;
  return link;
}

watchWays(async (word, slice) => nearIn(word, slice), linked);

/**
 * Show the lines of one slice, or of those whose neighbours stand side by side.
 * @param {Element} page
 * @param {string} [slice]
 */
function showLines(page, slice) {
  const kept = [...page.querySelectorAll(".strip.kept")].map((strip) => strip.getAttribute("data-slice"));
  const lines = [...page.querySelectorAll(".passages li[data-slice]")];
  for (const line of lines) {
    const at = line.getAttribute("data-slice");
    line.toggleAttribute("hidden", slice === undefined ? !kept.includes(at) : at !== slice);
  }
  const title = page.querySelector(".texts");
  if (!title) return;
  const shown = lines.filter((line) => !line.hasAttribute("hidden")).length;
  const near = slice === undefined ? undefined : nearIn(page.getAttribute("data-word") ?? "", slice);
  title.textContent = near === undefined ? "In the texts" : `In the texts, ${slice}: ${shown} of ${near.count.toLocaleString("en")} occurrences`;
}

/**
 * Mark anew what has entered since the list before, and what is not in the next.
 * @param {Element} columns
 */
function mark(columns) {
  const lists = [...columns.children].map((column) => [...column.querySelectorAll("li")]);
  /** @param {Element} item */
  const wordOf = (item) => (item.querySelector("a") ?? item.firstChild)?.textContent?.trim() ?? "";
  const words = lists.map((list) => new Set(list.map(wordOf)));
  lists.forEach((list, i) =>
    list.forEach((item) => {
      const marks = document.createElement("span");
      marks.className = "marks";
      if (i > 0 && !words[i - 1].has(wordOf(item))) marks.append(" ", sign("entered", "+", "new: not in the list before"));
      if (i + 1 < words.length && !words[i + 1].has(wordOf(item))) marks.append(" ", sign("left", "−", "leaves: not in the next list"));
      item.querySelector(".marks")?.remove();
      item.append(marks);
    }),
  );
}

/**
 * @param {string} name
 * @param {string} text
 * @param {string} told
 */
function sign(name, text, told) {
  const node = document.createElement("span");
  node.className = name;
  node.title = told;
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", told);
  node.textContent = text;
  return node;
}

/**
 * Keep a slice of a page beside the others, or put it away.
 * @param {Element} page
 * @param {Element} strip
 */
function toggle(page, strip) {
  const columns = page.querySelector(".columns");
  const slice = strip.getAttribute("data-slice") ?? "";
  const near = nearIn(page.getAttribute("data-word") ?? "", slice);
  if (!columns || !near) return;
  const last = columns.children.length === 1 && columns.children[0].getAttribute("data-slice") === slice;
  if (last) return; // something is always shown
  const there = [...columns.children].find((column) => column.getAttribute("data-slice") === slice);
  strip.classList.toggle("kept", !there);
  if (there) there.remove();
  else {
    const after = [...columns.children].find((other) => held.labels.indexOf(other.getAttribute("data-slice") ?? "") > held.labels.indexOf(slice));
    columns.insertBefore(columnOf(near), after ?? null);
  }
  mark(columns);
  showLines(page, there ? undefined : slice);
}

/** @param {Near} near */
function columnOf(near) {
  const column = document.createElement("section");
  column.dataset.slice = near.slice;
  const title = document.createElement("h3");
  title.textContent = near.slice;
  const count = document.createElement("p");
  count.className = "count";
  count.textContent = times(near.count);
  const words = document.createElement("ol");
  for (const other of near.neighbors) {
    const item = document.createElement("li");
    item.append(linked(other));
    words.append(item);
  }
  column.append(title, count, words);
  return column;
}

/** @param {Element} page */
const keptIn = (page) => [...page.querySelectorAll(".way .strip.kept")].map((strip) => strip.getAttribute("data-slice") ?? "");

document.addEventListener("click", (event) => {
  const strip = stripOf(event);
  const page = strip?.closest(".page");
  if (!strip || !page) return;
  event.preventDefault();
  toggle(page, strip);
  const panel = page.querySelector(".near");
  const button = panel?.querySelector("button");
  if (button && panel?.getAttribute("data-slice") === strip.dataset.slice) nameKeep(button, strip);
  // The address says which slices are kept; nothing else changes.
  history.replaceState(null, "", "#" + encodeURIComponent(page.id) + keptIn(page).map((slice) => "@" + encodeURIComponent(slice)).join(""));
});

/**
 * Read a part of an address, which people may have typed.
 * @param {string} text
 */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const title = document.title;

/** Show the page and the slices that an address names. */
function follow() {
  const [id, ...slices] = location.hash.slice(1).split("@").map(decoded);
  document.title = title;
  for (const page of document.querySelectorAll(".page")) {
    page.classList.toggle("shown", page.id === id);
    if (page.id === id) document.title = `${page.getAttribute("data-word")} · ${title}`;
    if (page.id !== id || !slices.length) continue;
    for (const strip of page.querySelectorAll(".way .strip"))
      if (slices.includes(strip.getAttribute("data-slice") ?? "") !== strip.classList.contains("kept")) toggle(page, strip);
  }
}

for (const page of document.querySelectorAll(".page")) showLines(page);
follow();
window.addEventListener("hashchange", follow);

for (const button of document.querySelectorAll("button[data-sort]"))
  button.addEventListener("click", () => {
    const head = /** @type {HTMLTableCellElement} */ (button.closest("th"));
    const body = head.closest("table")?.tBodies[0];
    if (!body) return;
    const down = head.getAttribute("aria-sort") !== "descending" && head.classList.contains("n");
    /** @param {HTMLTableRowElement} row */
    const value = (row) => row.cells[head.cellIndex].dataset.value ?? "";
    const rows = [...body.rows].sort((a, b) => (head.classList.contains("n") ? Number(value(a)) - Number(value(b)) : value(a).localeCompare(value(b))));
    for (const other of head.parentElement?.children ?? []) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.replaceChildren(...(down ? rows.reverse() : rows));
  });
