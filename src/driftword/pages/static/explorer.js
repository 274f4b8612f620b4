// Completes words in the search box, shows the neighbours in a slice, and changes a page without loading another.
// Every page works without it.
"use strict";

/** @typedef {{word: string, count: number | null, distance: (number | null)[] | null}} Completion */

/**
 * Complete the word in a field, or the last of several that are separated by commas: with a list below the field, from
 * which the arrow keys and Enter choose. In the search box Enter takes the first, if none was chosen.
 * @param {HTMLInputElement} field
 */
function completeWords(field) {
  const list = document.createElement("ul");
  list.className = "completions";
  list.id = `completions-${field.name}`;
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Words");
  field.after(list);
  for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id })) field.setAttribute(name, value);
  const alone = field.type === "search";
  const lastWord = () => field.value.slice(field.value.lastIndexOf(",") + 1).trim();
  let chosen = -1;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const close = () => {
    list.hidden = true;
    chosen = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };
  /** @param {string} word */
  const take = (word) => {
    const before = field.value.slice(0, field.value.lastIndexOf(",") + 1).trim();
    field.value = before ? `${before} ${word}` : word;
    close();
    if (alone && !before) field.form?.requestSubmit();
  };
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const typed = lastWord();
      const found = /** @type {Completion[] | undefined} */ (typed.includes("*") ? [] : await fetchJson("/completions.json?q=" + encodeURIComponent(typed)));
      if (lastWord() !== typed || document.activeElement !== field) return; // the reader has typed on, or left
      list.replaceChildren(...(found ?? []).map((one, i) => completion(one, `${list.id}-${i}`, take)));
      if (!list.children.length) return close();
      chosen = -1;
      list.hidden = false;
      field.setAttribute("aria-expanded", "true");
    }, 80);
  });
  field.addEventListener("keydown", (event) => {
    const items = [...list.children];
    if (list.hidden || !items.length) return;
    if (event.key === "Escape") return event.preventDefault(), close(); // or the browser would empty the field
    if (event.key === "Enter" && chosen >= 0) return event.preventDefault(), take(items[chosen].getAttribute("data-word") ?? "");
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    chosen = (chosen + (event.key === "ArrowDown" ? 1 : -1) + items.length) % items.length;
    items.forEach((item, i) => item.setAttribute("aria-selected", String(i === chosen)));
    field.setAttribute("aria-activedescendant", items[chosen].id);
  });
  field.addEventListener("blur", close);
}

/**
 * @param {Completion} found
 * @param {string} id
 * @param {(word: string) => void} take
 */
function completion(found, id, take) {
  const item = document.createElement("li");
  item.id = id;
  item.dataset.word = found.word;
  item.setAttribute("role", "option");
  item.setAttribute("aria-selected", "false");
  const name = document.createElement("span");
  name.textContent = found.word;
  const count = document.createElement("span");
  count.className = "count";
  count.textContent = found.count === null ? "" : times(found.count);
  item.append(name, count);
  if (found.distance) {
    const values = found.distance;
    const points = values.flatMap((value, t) => (value === null ? [] : [`${(t / Math.max(values.length - 1, 1)) * 58 + 1} ${19 - Math.min(value, 0.3) * 60}`]));
    const line = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    line.setAttribute("viewBox", "0 0 60 20");
    line.setAttribute("aria-hidden", "true");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", points.length ? "M" + points.join("L") : "");
    line.append(path);
    item.append(line);
  }
  item.addEventListener("pointerdown", (event) => (event.preventDefault(), take(found.word))); // before the field loses the focus
  return item;
}

/**
 * @param {string} address
 * @returns {Promise<unknown>} undefined where there is no answer
 */
async function fetchJson(address) {
  try {
    const response = await fetch(address);
    return response.ok ? await response.json() : undefined;
  } catch {
    return undefined; // the explorer has been stopped
  }
}

/**
 * Words such as "and/or" are searched for: the server writes their addresses in another way.
 * @param {string} word
 */
const wordAddress = (word) => (/[./~%]/.test(word) ? "/search?q=" : "/word/") + encodeURIComponent(word);

watchTrajectories(
  async (_, slice) => /** @type {SliceNeighbors | undefined} */ (await fetchJson(`${location.pathname}/neighbors.json?at=${encodeURIComponent(slice)}`)),
  (word) => {
    const link = document.createElement("a");
    link.href = wordAddress(word);
    link.textContent = word;
    return link;
  },
);

/**
 * Return the labels of all slices, as this page has them.
 *
 * @returns {string[]}
 */
const sliceLabels = () => JSON.parse(document.querySelector("main")?.getAttribute("data-slices") ?? "[]");
watchFigures(sliceLabels);

/**
 * Fetch what takes longer than the rest of a page, from a page of its own, and put each part in its place.
 * @param {Element} main
 */
async function addLater(main) {
  for (const place of main.querySelectorAll("[data-later]")) {
    const response = await fetch(place.getAttribute("data-later") ?? "").catch(() => undefined);
    if (!response?.ok || !main.isConnected) continue; // the link to that page stays
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const part of page.querySelectorAll("[data-place]")) main.querySelector(`[data-place="${part.getAttribute("data-place")}"]`)?.replaceWith(part);
  }
  addValues(main, sliceLabels());
}

/** Add to the content of a page what scripts add. */
async function enhance() {
  const main = document.querySelector("main");
  if (!main) return;
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("input[data-complete]:not([role])"))) completeWords(field);
  addValues(main, sliceLabels());
  addPlayers(main, sliceLabels());
  addCopies();
  // The server does not know by which address it is reached.
  for (const code of main.querySelectorAll("textarea[data-code]")) code.textContent = (code.textContent ?? "").replace('"EXPLORER/', `"${location.origin}/`);
  watchBrush(main.querySelector("figure.when"), (first, last) =>
    show(new URL(`/?${new URLSearchParams({ since: sliceLabels()[first], until: sliceLabels()[last] })}#changed`, location.href)),
  );
  await addLater(main);
  for (const figure of main.querySelectorAll("figure[data-band]")) {
    const svg = figure.querySelector("svg");
    for (const [i, address] of (figure.getAttribute("data-band") ?? "").split(" ").filter(Boolean).entries()) {
      if (!svg?.isConnected) return;
      const band = /** @type {{low: (number | null)[] | null, high: (number | null)[] | null} | undefined} */ (await fetchJson(address));
      if (svg.isConnected && band?.low && band.high) drawBand(svg, band.low, band.high, i);
    }
  }
}

enhance();

let currentAddress = location.pathname + location.search;
/** @type {URL | undefined} The latest address requested, until it arrives; a late response never replaces a newer one. */
let pendingAddress;

/**
 * Replace the content of this page by that of an address, without a jump. The address bar changes with the content,
 * not before it: what a reader copies, cites or downloads in the meantime belongs to what they see.
 * @param {URL} address
 * @param {boolean} [scroll] whether to go to the part of the page that the address names
 */
async function show(address, scroll) {
  pendingAddress = address;
  document.querySelector("main")?.setAttribute("aria-busy", "true");
  let text;
  let problem = "";
  try {
    const response = await fetch(address);
    text = await response.text();
    if (response.status === 503) problem = new DOMParser().parseFromString(text, "text/html").querySelector("main")?.textContent?.trim() ?? text;
  } catch {
    problem = "The explorer does not answer; it may have been stopped.";
    text = "";
  }
  if (pendingAddress !== address) return;
  pendingAddress = undefined;
  notify(problem && `${problem} This page stays as it is.`);
  if (problem) return void document.querySelector("main")?.removeAttribute("aria-busy");
  const page = new DOMParser().parseFromString(text, "text/html");
  const main = page.querySelector("main");
  if (!main) return void location.assign(address);
  if (location.href !== address.href) history.pushState(null, "", address);
  currentAddress = address.pathname + address.search;
  document.title = page.title;
  const findCounterpart = rememberFocus(document.activeElement);
  document.querySelector("footer")?.remove();
  document.querySelector("main")?.replaceWith(main, ...page.querySelectorAll("footer"));
  enhance();
  const target = scroll && address.hash ? document.getElementById(address.hash.slice(1)) : null;
  target?.scrollIntoView();
  const focused = target ?? findCounterpart?.();
  if (focused && !focused.matches(FOCUSABLE)) focused.setAttribute("tabindex", "-1");
  focused?.focus({ preventScroll: true });
  const status = document.getElementById("status");
  if (status) status.textContent = page.title;
}

/**
 * Say what went wrong above the page, or that nothing did.
 * @param {string} message
 */
function notify(message) {
  const notice = document.getElementById("notice");
  if (!notice) return;
  notice.textContent = message;
  notice.hidden = !message;
}

const FOCUSABLE = "a, button, input, select, summary";

/**
 * Remember the focused element. Returns a function that finds its counterpart on the next page: the element of the
 * same name or, failing that, the content.
 * @param {Element | null} element
 */
function rememberFocus(element) {
  if (!element?.closest("main")) return undefined;
  /** @param {Element} one */
  const name = (one) => [one.tagName, one.getAttribute("name"), one.getAttribute("data-slice") ?? one.getAttribute("aria-label") ?? one.textContent].join();
  const sameName = () => /** @type {(HTMLElement | SVGElement)[]} */ ([...document.querySelectorAll("main " + FOCUSABLE.replaceAll(", ", ", main "))]).filter((one) => name(one) === name(element));
  const index = sameName().findIndex((one) => one === element);
  return () => sameName()[index] ?? document.querySelector("main");
}

/**
 * Pin a slice and show its passages, or remove it, on the page that has not arrived yet, for readers who do not wait for it.
 * @param {URL} address
 * @param {string} slice
 */
function withSliceToggled(address, slice) {
  const changed = new URL(address);
  const before = changed.searchParams.getAll("at");
  const maxSlices = Number(document.querySelector(".trajectory")?.getAttribute("data-max-slices"));
  const removed = before.includes(slice) && changed.searchParams.get("passages_at") === slice;
  const after = removed ? before.filter((other) => other !== slice) : before.includes(slice) ? before : [...before, slice].slice(-maxSlices);
  changed.searchParams.delete("at");
  for (const label of after) changed.searchParams.append("at", label);
  if (removed) changed.searchParams.delete("passages_at");
  else changed.searchParams.set("passages_at", slice);
  return changed;
}

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[data-in-place], .trajectory .slice-link, .when .slice-link, .stream .slice-link") : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const slice = link instanceof SVGElement && link.closest(".trajectory") ? link.dataset.slice : undefined;
  const address = new URL(link.getAttribute("href") ?? "", location.href);
  show(slice !== undefined && pendingAddress?.searchParams.has("at") ? withSliceToggled(pendingAddress, slice) : address, slice === undefined);
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !form.hasAttribute("data-in-place")) return;
  event.preventDefault();
  const address = new URL(form.action);
  const fields = [...new FormData(form)].filter(([, value]) => value !== "").map(([name, value]) => [name, String(value)]);
  address.search = new URLSearchParams(fields).toString();
  show(address);
});

// A choice applies at once.
document.addEventListener("change", (event) => {
  const form = event.target instanceof HTMLSelectElement ? event.target.form : null;
  if (form?.hasAttribute("data-at-once")) form.requestSubmit();
});

window.addEventListener("popstate", () => {
  if (location.pathname + location.search !== currentAddress) return void show(new URL(location.href));
  pendingAddress = undefined; // another part of this page, or back to it before the other one arrived
  document.querySelector("main")?.removeAttribute("aria-busy");
});
