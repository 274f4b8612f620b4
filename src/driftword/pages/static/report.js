// Searches a report, shows and pins slices, and sorts its table. Everything in the report can be read without it.
"use strict";

/** @typedef {{counts: (number | null)[], observed: boolean[], neighbors: (number[] | null)[]}} WordData */
/** @type {{labels: string[], words: string[], few: number, pages: Record<string, WordData>}} */
const reportData = JSON.parse(document.getElementById("data")?.textContent ?? "{}");
/** @type {Map<string, WordData>} Not an object: every object has properties such as "constructor". */
const wordData = new Map(Object.entries(reportData.pages));
const searchBox = /** @type {HTMLInputElement} */ (document.getElementById("q"));
const searchStatus = /** @type {HTMLElement} */ (document.getElementById("search-status"));

/** @param {string} word */
const pageId = (word) => "word-" + encodeURIComponent(word).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());

/**
 * Count the letters that must be changed, added, dropped or swapped to turn one word into another.
 * @param {string} a
 * @param {string} b
 */
function editDistance(a, b) {
  /** @type {number[][]} */
  const rows = [[...Array(b.length + 1).keys()]];
  for (let i = 1; i <= a.length; i++) {
    rows[i] = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      rows[i][j] = Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) rows[i][j] = Math.min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.length][b.length];
}

/** @param {string} typed */
function findWord(typed) {
  const words = [...wordData.keys()];
  const closest = words.map((word) => ({ word, distance: editDistance(typed, word) })).sort((x, y) => x.distance - y.distance)[0];
  return (
    words.find((word) => word === typed) ??
    words.find((word) => word.startsWith(typed)) ??
    (closest && closest.distance <= Math.max(1, Math.floor(typed.length / 3)) ? closest.word : undefined)
  );
}

searchBox.addEventListener("input", () => (searchStatus.textContent = ""));
searchBox.addEventListener("change", () => {
  const typed = searchBox.value.trim().toLowerCase();
  if (!typed) return;
  const word = findWord(typed);
  searchStatus.textContent = word === undefined ? `“${typed}” is not among the ${wordData.size} words of this report.` : word === typed ? "" : `${typed} → ${word}`;
  if (word !== undefined) {
    location.hash = encodeURIComponent(pageId(word));
    searchBox.value = "";
  }
});

/**
 * @param {string} word
 * @param {string} slice
 * @returns {SliceNeighbors | undefined}
 */
function neighborsIn(word, slice) {
  const t = reportData.labels.indexOf(slice);
  const data = wordData.get(word);
  return data && { slice, count: data.counts[t], neighbors: (data.neighbors[t] ?? []).map((number) => reportData.words[number]) };
}

/** @param {string} word */
function wordLink(word) {
  if (!wordData.has(word)) return document.createTextNode(word);
  const link = document.createElement("a");
  link.href = "#" + encodeURIComponent(pageId(word));
  link.textContent = word;
  return link;
}

watchFigures(() => reportData.labels);
watchTrajectories(async (word, slice) => neighborsIn(word, slice), wordLink);

/**
 * Show the passages of one slice, or of all pinned slices.
 * @param {Element} page
 * @param {string} [slice]
 */
function showPassages(page, slice) {
  const pinned = pinnedSlices(page);
  const passages = [...page.querySelectorAll(".passages li[data-slice]")];
  for (const passage of passages) {
    const at = passage.getAttribute("data-slice") ?? "";
    passage.toggleAttribute("hidden", slice === undefined ? !pinned.includes(at) : at !== slice);
  }
  const title = page.querySelector(".passages-title");
  if (!title) return;
  const visible = passages.filter((passage) => !passage.hasAttribute("hidden")).length;
  const found = slice === undefined ? undefined : neighborsIn(page.getAttribute("data-word") ?? "", slice);
  title.textContent = found === undefined ? "Passages" : found.count === null ? `Passages, ${slice}` : `Passages, ${slice}: ${visible} of ${found.count.toLocaleString("en")} occurrences`;
}

/**
 * Mark again which words are not in the previous list, and which are not in the next.
 * @param {Element} columns
 */
function markChanges(columns) {
  const lists = [...columns.children].map((column) => [...column.querySelectorAll("li")]);
  /** @param {Element} item */
  const wordOf = (item) => (item.querySelector("a") ?? item.firstChild)?.textContent?.trim() ?? "";
  const words = lists.map((list) => new Set(list.map(wordOf)));
  lists.forEach((list, i) =>
    list.forEach((item) => {
      const marks = document.createElement("span");
      marks.className = "marks";
      if (i > 0 && !words[i - 1].has(wordOf(item))) marks.append(" ", changeMark("entered", "+", "new: not in the previous list"));
      if (i + 1 < words.length && !words[i + 1].has(wordOf(item))) marks.append(" ", changeMark("left", "−", "drops out: not in the next list"));
      item.querySelector(".marks")?.remove();
      item.append(marks);
    }),
  );
}

/**
 * @param {string} className
 * @param {string} sign
 * @param {string} description
 */
function changeMark(className, sign, description) {
  const element = document.createElement("span");
  element.className = className;
  element.title = description;
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", description);
  element.textContent = sign;
  return element;
}

/**
 * Pin a slice of a page, or remove it.
 * @param {Element} page
 * @param {Element} sliceLink
 */
function togglePin(page, sliceLink) {
  const columns = page.querySelector(".columns");
  const slice = sliceLink.getAttribute("data-slice") ?? "";
  const word = page.getAttribute("data-word") ?? "";
  const found = neighborsIn(word, slice);
  if (!columns || !found) return;
  const column = [...columns.children].find((one) => one.getAttribute("data-slice") === slice);
  if (column && columns.children.length === 1) return; // one slice is always pinned
  sliceLink.classList.toggle("pinned", !column);
  if (column) column.remove();
  else {
    const next = [...columns.children].find((other) => reportData.labels.indexOf(other.getAttribute("data-slice") ?? "") > reportData.labels.indexOf(slice));
    const observed = wordData.get(word)?.observed[reportData.labels.indexOf(slice)] ?? true;
    columns.insertBefore(neighborColumn(found, observed), next ?? null);
  }
  markChanges(columns);
  showPassages(page, column ? undefined : slice);
}

/**
 * @param {SliceNeighbors} found
 * @param {boolean} observed whether the word occurs in the training text of the slice
 */
function neighborColumn(found, observed) {
  const column = document.createElement("section");
  column.dataset.slice = found.slice;
  const title = document.createElement("h3");
  title.textContent = found.slice;
  const count = document.createElement("p");
  const rare = found.count !== null && found.count < reportData.few;
  count.className = rare || !observed ? "count faint" : "count";
  count.textContent = (found.count === null ? "" : found.count === 0 ? "does not occur" : times(found.count)) + (!observed ? " (interpolated)" : rare ? " (uncertain)" : "");
  const words = document.createElement("ol");
  for (const other of found.neighbors) {
    const item = document.createElement("li");
    item.append(wordLink(other));
    words.append(item);
  }
  column.append(title, count, words);
  return column;
}

/** @param {Element} page */
const pinnedSlices = (page) => [...page.querySelectorAll(".trajectory .slice-link.pinned")].map((link) => link.getAttribute("data-slice") ?? "");

document.addEventListener("click", (event) => {
  const link = sliceLinkOf(event);
  const page = link?.closest(".page");
  if (!link || !page) return;
  event.preventDefault();
  togglePin(page, link);
  const panel = page.querySelector(".neighbors-panel");
  const button = panel?.querySelector("button");
  if (button && panel?.getAttribute("data-slice") === link.dataset.slice) labelPinButton(button, link);
  // The address says which slices are pinned; nothing else changes.
  history.replaceState(null, "", "#" + encodeURIComponent(page.id) + pinnedSlices(page).map((slice) => "@" + encodeURIComponent(slice)).join(""));
});

/**
 * Decode a part of an address, which people may have typed.
 * @param {string} text
 */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const reportTitle = document.title;

/** Show the page and the slices that the address names. */
function followAddress() {
  const [id, ...slices] = location.hash.slice(1).split("@").map(decoded);
  document.title = reportTitle;
  for (const page of document.querySelectorAll(".page")) {
    page.classList.toggle("current", page.id === id);
    if (page.id === id) document.title = `${page.getAttribute("data-word")} · ${reportTitle}`;
    if (page.id !== id || !slices.length) continue;
    for (const link of page.querySelectorAll(".trajectory .slice-link"))
      if (slices.includes(link.getAttribute("data-slice") ?? "") !== link.classList.contains("pinned")) togglePin(page, link);
  }
}

for (const page of document.querySelectorAll(".page")) showPassages(page);
followAddress();
window.addEventListener("hashchange", followAddress);

for (const button of document.querySelectorAll("button[data-sort]"))
  button.addEventListener("click", () => {
    const heading = /** @type {HTMLTableCellElement} */ (button.closest("th"));
    const body = heading.closest("table")?.tBodies[0];
    if (!body) return;
    const numeric = heading.classList.contains("numeric");
    const descending = numeric && heading.getAttribute("aria-sort") !== "descending";
    /** @param {HTMLTableRowElement} row */
    const value = (row) => row.cells[heading.cellIndex].dataset.value ?? "";
    const rows = [...body.rows].sort((a, b) => (numeric ? Number(value(a)) - Number(value(b)) : value(a).localeCompare(value(b))));
    for (const other of heading.parentElement?.children ?? []) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    body.replaceChildren(...(descending ? rows.reverse() : rows));
  });
