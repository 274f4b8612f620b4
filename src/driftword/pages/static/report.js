// Searches a report, shows and pins slices, and sorts its table. Without it, everything but passages and comparisons can be read.
"use strict";

/** @typedef {[number, string, string, string, string, string]} StoredPassage slice, left, keyword, right, date, and what else is known */
/** @typedef {{counts: (number | null)[], observed: boolean[], neighbors: (number[] | null)[], similarity: (number[] | null)[], distance: (number | null)[], passages: StoredPassage[]}} WordData */
/** @type {{labels: string[], words: string[], few: number, pages: Record<string, WordData>, timeline: [number, string, string[], string[]][]}} */
const reportData = JSON.parse(document.getElementById("data")?.textContent ?? "{}");
/** @type {Map<string, WordData>} Not an object: every object has properties such as "constructor". */
const wordData = new Map(Object.entries(reportData.pages));
const searchBox = /** @type {HTMLInputElement} */ (document.getElementById("q"));
const searchStatus = /** @type {HTMLElement} */ (document.getElementById("search-status"));

/** @type {[string, string][] | undefined} Words and their files, where every word has a page of its own. */
const filesOfWords = /** @type {any} */ (globalThis).siteWords;
const root = document.body.dataset.root ?? "";

/** @param {string} word */
const pageId = (word) => "word-" + encodeURIComponent(word).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());

/** @type {Map<string, string>} */
const addressOf = new Map(filesOfWords?.map(([word, file]) => [word, root + file]) ?? [...wordData.keys()].map((word) => [word, "#" + encodeURIComponent(pageId(word))]));
document.getElementById("words")?.append(...[...addressOf.keys()].map((word) => new Option(word)));

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
  const words = [...addressOf.keys()];
  const closest = words.map((word) => ({ word, distance: editDistance(typed, word) })).sort((x, y) => x.distance - y.distance)[0];
  return (
    words.find((word) => word === typed) ??
    words.find((word) => word.startsWith(typed)) ??
    (closest && typed.length > 3 && closest.distance <= Math.max(1, Math.floor(typed.length / 3)) ? closest.word : undefined)
  );
}

searchBox.addEventListener("input", () => (searchStatus.textContent = ""));
searchBox.addEventListener("change", () => {
  const typed = searchBox.value.trim().toLowerCase();
  if (!typed) return;
  const word = findWord(typed);
  searchStatus.textContent = word === undefined ? `“${typed}” is not among the ${addressOf.size} words of this report.` : word === typed ? "" : `${typed} → ${word}`;
  if (word !== undefined) {
    searchBox.value = "";
    location.href = addressOf.get(word) ?? "";
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
  const passages = (data?.passages ?? []).filter((one) => one[0] === t).slice(0, 2).map(([, left, keyword, right, when]) => ({ left, keyword, right, when }));
  return data && { slice, count: data.counts[t], neighbors: (data.neighbors[t] ?? []).map((number) => reportData.words[number]), passages };
}

/** @param {string} word */
function wordLink(word) {
  const address = addressOf.get(word);
  if (address === undefined) return document.createTextNode(word);
  const link = document.createElement("a");
  link.href = address;
  link.textContent = word;
  return link;
}

watchFigures(() => reportData.labels);
addCopies();
watchBrush(document.querySelector("figure.when"), listChanged);
watchTrajectories(async (word, slice) => neighborsIn(word, slice), wordLink);

/**
 * Show the passages of one slice, or of all pinned slices.
 * @param {Element} page
 * @param {string} [slice]
 */
function showPassages(page, slice) {
  const list = page.querySelector(".passages");
  const word = page.getAttribute("data-word") ?? "";
  const pinned = pinnedSlices(page);
  const shown = (wordData.get(word)?.passages ?? []).filter(([t]) => (slice === undefined ? pinned.includes(reportData.labels[t]) : reportData.labels[t] === slice));
  page.setAttribute("data-passages", slice ?? "");
  list?.replaceChildren(...(shown.length ? shown.map(passageItem) : [textItem("No passages.")]));
  const title = page.querySelector(".passages-title");
  if (!title) return;
  const found = slice === undefined ? undefined : neighborsIn(word, slice);
  title.textContent = found === undefined ? "Passages" : found.count === null ? `Passages, ${slice}` : `Passages, ${slice}: ${shown.length} of ${found.count.toLocaleString("en")} occurrences`;
}

/** @param {string} text */
function textItem(text) {
  const item = document.createElement("li");
  item.textContent = text;
  return item;
}

/** @param {StoredPassage} passage */
function passageItem([t, left, keyword, right, when, about]) {
  const item = document.createElement("li");
  item.dataset.slice = reportData.labels[t];
  const mark = document.createElement("mark");
  mark.textContent = keyword;
  const source = document.createElement("span");
  source.className = "source";
  source.append(bold(when), about ? ` · ${about}` : "");
  item.append("…" + left, mark, right + "… ", source);
  return item;
}

/**
 * Mark again which words are clearly nearer than in the list before, or after: see `neighbor_columns` in content.py.
 * @param {Element} columns
 * @param {string} word
 */
function markChanges(columns, word) {
  const data = wordData.get(word);
  const lists = [...columns.children].map((column) => {
    const t = reportData.labels.indexOf(column.getAttribute("data-slice") ?? "");
    return { items: [...column.querySelectorAll("li")], words: data?.neighbors[t] ?? [], near: data?.similarity[t] ?? [] };
  });
  lists.forEach((list, i) =>
    list.items.forEach((item, rank) => {
      /** @param {typeof list | undefined} other */
      const clearlyNearer = (other) => other !== undefined && other.near.length > 0 && !other.words.includes(list.words[rank]) && list.near[rank] - other.near[other.near.length - 1] >= 5;
      const marks = document.createElement("span");
      marks.className = "marks";
      if (clearlyNearer(lists[i - 1])) marks.append(" ", changeMark("entered", "+", "new: clearly nearer than in the previous list"));
      if (clearlyNearer(lists[i + 1])) marks.append(" ", changeMark("left", "−", "drops out: clearly nearer than in the next list"));
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
 * Pin a slice of a page and show its passages, or remove it if they are shown.
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
  if (column && page.getAttribute("data-passages") !== slice) return showPassages(page, slice);
  if (column && columns.children.length === 1) return; // one slice is always pinned
  sliceLink.classList.toggle("pinned", !column);
  if (column) column.remove();
  else {
    const next = [...columns.children].find((other) => reportData.labels.indexOf(other.getAttribute("data-slice") ?? "") > reportData.labels.indexOf(slice));
    const observed = wordData.get(word)?.observed[reportData.labels.indexOf(slice)] ?? true;
    columns.insertBefore(neighborColumn(found, observed), next ?? null);
  }
  markChanges(columns, word);
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
  const chosen = reportData.labels.indexOf(link?.dataset.slice ?? "");
  if (link?.closest(".when")) return event.preventDefault(), listChanged(chosen, chosen);
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
  const [target, ...slices] = location.hash.slice(1).split("@").map(decoded);
  const alone = document.querySelector(".page[data-alone]");
  const id = alone?.id ?? target.replace(/^passages-/, "word-"); // the passages of a word are on its page
  document.title = reportTitle;
  for (const page of document.querySelectorAll(".page")) {
    page.classList.toggle("current", page.id === id);
    if (page.id === id) openPage(page);
    if (page.id !== id || !slices.length) continue;
    for (const link of page.querySelectorAll(".trajectory .slice-link"))
      if (slices.includes(link.getAttribute("data-slice") ?? "") !== link.classList.contains("pinned")) togglePin(page, link);
  }
  if (id !== target) target && document.getElementById(target)?.scrollIntoView();
  else if (!slices.length && document.querySelector(".page.current")) scrollTo(0, 0); // it was empty when the browser looked for it
}

/**
 * Add to the page of a word what scripts add, when it is first opened.
 * @param {Element} page
 */
function openPage(page) {
  if (!filesOfWords) document.title = `${page.getAttribute("data-word")} · ${reportTitle}`;
  if (page.hasAttribute("data-opened")) return;
  page.setAttribute("data-opened", "");
  if (!filesOfWords) page.innerHTML = page.querySelector("noscript")?.textContent ?? "";
  showPassages(page);
  enhance(page);
}

/** @param {Element} scope */
function enhance(scope) {
  addValues(scope, reportData.labels);
  addPlayers(scope, reportData.labels);
  for (const caption of scope.querySelectorAll("figcaption")) if (!caption.querySelector(".figure-links")) addDownloads(caption);
}

/**
 * Let readers save a figure.
 * @param {Element} caption
 */
function addDownloads(caption) {
  const svg = caption.closest("figure")?.querySelector("svg");
  if (!svg) return;
  const links = document.createElement("span");
  links.className = "figure-links";
  for (const form of ["SVG", "PNG"]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = form;
    button.setAttribute("aria-label", `this figure as ${form}`);
    button.addEventListener("click", () => saveFigure(svg, form.toLowerCase()));
    links.append(button, " ");
  }
  caption.querySelector(".values")?.before(links) ?? caption.append(links);
}

/**
 * @param {SVGSVGElement} svg
 * @param {string} form
 */
async function saveFigure(svg, form) {
  const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
  const { width, height } = svg.viewBox.baseVal;
  for (const [name, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height })) copy.setAttribute(name, String(value));
  const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
  style.textContent = (document.querySelector("style")?.textContent ?? "").split("/* dark */")[0];
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ width: "100%", height: "100%", fill: "#fff" })) paper.setAttribute(name, value);
  copy.prepend(style, paper);
  // With a title and where it comes from, above the figure.
  const source = (document.querySelector("footer p")?.textContent ?? reportTitle).replace("Cite as: ", "");
  const lines = [...wrapped(svg.getAttribute("aria-label") ?? "", width / 10).map((text) => ["title", text]), ...wrapped(source, width / 6.5).map((text) => ["tick", text])];
  const head = 18 * lines.length + 12;
  lines.forEach(([name, text], i) => {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "text");
    for (const [key, value] of Object.entries({ x: 14, y: 18 * i + 20 - head, class: name })) line.setAttribute(key, String(value));
    line.textContent = text;
    copy.append(line);
  });
  copy.setAttribute("viewBox", `0 ${-head} ${width} ${height + head}`);
  copy.setAttribute("height", String(height + head));
  paper.setAttribute("y", String(-head));
  const drawn = new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
  save(form === "svg" ? drawn : await rasterized(drawn, width, height + head), `${(svg.getAttribute("aria-label") ?? "figure").replace(/\W+/g, "-")}.${form}`);
}

/**
 * Break a text into lines.
 * @param {string} text
 * @param {number} length letters of a line
 */
function wrapped(text, length) {
  const lines = [""];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    if (lines[lines.length - 1].length + word.length >= length && lines[lines.length - 1]) lines.push("");
    lines[lines.length - 1] += (lines[lines.length - 1] && " ") + word;
  }
  return lines;
}

/**
 * @param {Blob} drawn
 * @param {number} width
 * @param {number} height
 * @returns {Promise<Blob>}
 */
async function rasterized(drawn, width, height) {
  const image = new Image();
  image.src = URL.createObjectURL(drawn);
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * width, 2 * height];
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise((resolve) => canvas.toBlob((blob) => blob && resolve(blob)));
}

/**
 * @param {Blob} content
 * @param {string} name
 */
function save(content, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/**
 * List the words that changed in a period; the same period again lists all.
 * @param {number} first the number of its first slice
 * @param {number} last
 */
function listChanged(first, last) {
  const told = document.querySelector(".told");
  const title = document.getElementById("changed");
  if (!told || !title) return;
  const chosen = reportData.labels.slice(first, last + 1);
  const links = [...document.querySelectorAll(".when .slice-link")];
  const again = links.every((link) => link.classList.contains("pinned") === chosen.includes(link.getAttribute("data-slice") ?? ""));
  for (const link of links) link.classList.toggle("pinned", !again && chosen.includes(link.getAttribute("data-slice") ?? ""));
  told.parentElement?.querySelector(".in-slice")?.remove();
  told.toggleAttribute("hidden", !again);
  if (!title.hasAttribute("data-all")) title.setAttribute("data-all", title.textContent ?? "");
  title.textContent = again ? title.getAttribute("data-all") : `Words that changed ${first === last ? "in" : "from"} ${chosen[0]}${first === last ? "" : ` to ${chosen[chosen.length - 1]}`}`;
  title.scrollIntoView(); // the timeline is below the list, and moves as the list changes
  if (again) return;
  const counts = Object.values(figureValues(document.querySelector(".when svg") ?? told))[0] ?? [];
  const all = counts.slice(first, last + 1).reduce((/** @type {number} */ sum, count) => sum + Number(count), 0);
  const list = document.createElement("ul");
  list.className = "in-slice";
  for (const [t, word, before, after] of reportData.timeline.filter(([t]) => t >= first && t <= last)) {
    const item = document.createElement("li");
    item.append(wordLink(word), ` moved${before.length ? ` from ${before.join(", ")}` : ""}${after.length ? ` to ${after.join(", ")}` : ""}${first === last ? "" : ` (${reportData.labels[t]})`}`);
    list.append(item);
  }
  const everything = document.createElement("button");
  everything.type = "button";
  everything.textContent = "All periods";
  everything.addEventListener("click", () => listChanged(first, last));
  const note = textItem(
    list.children.length
      ? `${list.children.length} of ${all.toLocaleString("en")} significant words: in each slice those that moved farthest. `
      : "No word that changed then occurs often enough to say what it moved from and what it moved to. ",
  );
  note.append(everything);
  list.prepend(note);
  told.after(list);
}

/**
 * Draw how far several words have moved, on one scale.
 * @param {string[]} words
 */
function compareWords(words) {
  const figure = document.getElementById("compared");
  if (!figure) return;
  const known = words.filter((word) => wordData.get(word)?.distance.length);
  const found = known.slice(0, 6);
  const missing = words.filter((word) => !known.includes(word));
  const [width, height, left, right, top, bottom] = [760, 260, 52, 610, 22, 234];
  const farthest = Math.max(0.05, ...found.flatMap((word) => (wordData.get(word)?.distance ?? []).map(Number)));
  const tick = [0.02, 0.05, 0.1, 0.2, 0.5].find((size) => size >= farthest / 3) ?? 1;
  const most = Math.ceil(farthest / tick - 1e-9) * tick;
  const count = reportData.labels.length;
  const places = reportData.labels.map((_, t) => Math.round(left + ((t + 0.5) / count) * (right - left)));
  /** @param {number} value */
  const y = (value) => Math.round(10 * (bottom - (value / most) * (bottom - top))) / 10;
  const ends = found.map((word, i) => ({ word, i, y: y(Number((wordData.get(word)?.distance ?? []).filter((value) => value !== null).pop() ?? 0)) })).sort((a, b) => a.y - b.y);
  for (let i = 1; i < ends.length; i++) ends[i].y = Math.max(ends[i].y, ends[i - 1].y + 15);
  const lines = found.map((word, i) => {
    const points = (wordData.get(word)?.distance ?? []).map((value, t) => (value === null ? null : `${places[t]} ${y(value)}`));
    const path = points.map((point, t) => (point === null ? "" : (t && points[t - 1] !== null ? "L" : "M") + point)).join("");
    return `<g class="s${i}"><path class="observed" d="${path}"/></g>`;
  });
  const ticks = [...Array(Math.round(most / tick) + 1).keys()].map((n) => n * tick).map((value) => `<line class="grid" x1="${left}" x2="${right}" y1="${y(value)}" y2="${y(value)}"/><text class="tick numeric" x="${left - 6}" y="${y(value) + 4}">${value.toFixed(2)}</text>`);
  const step = Math.ceil(count / 7);
  const times = reportData.labels.map((label, t) => (t % step ? "" : `<text class="tick centered" x="${places[t]}" y="${height - 8}">${escaped(label.slice(0, 10))}</text>`));
  const names = ends.map(({ word, i, y: at }) => `<text class="s${i} name" x="${right + 8}" y="${at + 4}">${escaped(word)}</text>`);
  const values = escaped(JSON.stringify(Object.fromEntries(found.map((word) => [word, wordData.get(word)?.distance]))));
  figure.removeAttribute("data-valued");
  figure.innerHTML = found.length
    ? `<figcaption>How far words have moved<span class="values"></span></figcaption><svg class="figure wide" viewBox="0 0 ${width} ${height}" role="img" aria-label="How far ${escaped(found.join(", "))} have moved" data-x="${places.join(" ")}" data-values="${values}"><text class="tick label" x="${left}" y="12">distance from its first use (1 − cosine similarity)</text>${ticks.join("")}${times.join("")}${lines.join("")}${names.join("")}</svg><p class="legend" aria-hidden="true">${found.map((word, i) => `<span class="s${i} name">${escaped(word)}</span>`).join(" ")}</p><details class="values-table"><summary>Values</summary><p></p></details>`
    : "";
  if (found.length) figure.append(textNote("Each word is measured from the first slice that has it often enough. Lines have gaps where a word does not occur in the training text."));
  if (known.length > found.length) figure.append(textNote(`At most six words are compared; left out: ${known.slice(6).join(", ")}.`));
  if (missing.length) figure.append(textNote(`Not in this report: ${missing.join(", ")}. Separate words by commas.`));
  enhance(figure);
  figure.scrollIntoView({ block: "nearest" });
}

/** @param {string} text */
const escaped = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** @param {string} text */
function textNote(text) {
  const note = document.createElement("p");
  note.className = "note";
  note.textContent = text;
  return note;
}

const compareForm = document.getElementById("compare-form");
compareForm?.addEventListener("submit", (event) => {
  event.preventDefault();
  const typed = String(new FormData(/** @type {HTMLFormElement} */ (compareForm)).get("words"));
  compareWords([...new Set(typed.split(",").map((word) => word.trim().toLowerCase()).filter(Boolean))]);
});

for (const start of document.querySelectorAll(".start")) enhance(start);
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
