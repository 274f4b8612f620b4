// Completes words in the search box, shows the neighbours in a slice, and changes a page without loading another.
// Every page works without it.
"use strict";

const searchBox = /** @type {HTMLInputElement} */ (document.getElementById("q"));
const suggestions = /** @type {HTMLElement} */ (document.getElementById("words"));
/** @type {ReturnType<typeof setTimeout> | undefined} */
let suggestionTimer;

searchBox.addEventListener("input", () => {
  clearTimeout(suggestionTimer);
  suggestionTimer = setTimeout(async () => {
    const typed = searchBox.value;
    const words = /** @type {string[] | undefined} */ (await fetchJson("/suggest.json?q=" + encodeURIComponent(typed)));
    if (searchBox.value !== typed) return; // the reader has typed on
    // Browsers hide suggestions that do not begin with what was typed; a label that does shows those for a typo too.
    suggestions.replaceChildren(...(words ?? []).map((word) => new Option(word.startsWith(typed) ? word : `${typed} → ${word}`, word)));
  }, 120);
});

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
  try {
    text = await (await fetch(address)).text();
  } catch {
    text = ""; // the explorer has been stopped: the browser will say so
  }
  if (pendingAddress !== address) return;
  pendingAddress = undefined;
  const page = new DOMParser().parseFromString(text, "text/html");
  const main = page.querySelector("main");
  if (!main) return void location.assign(address);
  if (location.href !== address.href) history.pushState(null, "", address);
  currentAddress = address.pathname + address.search;
  document.title = page.title;
  const findCounterpart = rememberFocus(document.activeElement);
  document.querySelector("footer")?.remove();
  document.querySelector("main")?.replaceWith(main, ...page.querySelectorAll("footer"));
  const target = scroll && address.hash ? document.getElementById(address.hash.slice(1)) : null;
  target?.scrollIntoView();
  const focused = target ?? findCounterpart?.();
  if (focused && !focused.matches(FOCUSABLE)) focused.setAttribute("tabindex", "-1");
  focused?.focus({ preventScroll: true });
  const status = document.getElementById("status");
  if (status) status.textContent = page.title;
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
 * Pin a slice, or remove it, on the page that has not arrived yet, for readers who do not wait for it.
 * @param {URL} address
 * @param {string} slice
 */
function withSliceToggled(address, slice) {
  const changed = new URL(address);
  const before = changed.searchParams.getAll("at");
  const maxSlices = Number(document.querySelector(".trajectory")?.getAttribute("data-max-slices"));
  const after = before.includes(slice) ? before.filter((other) => other !== slice) : [...before, slice].slice(-maxSlices);
  changed.searchParams.delete("at");
  for (const label of after) changed.searchParams.append("at", label);
  if (after.includes(slice)) changed.searchParams.set("passages_at", slice);
  else changed.searchParams.delete("passages_at");
  return changed;
}

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[data-in-place], .trajectory .slice-link") : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const slice = link instanceof SVGElement ? link.dataset.slice : undefined;
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

window.addEventListener("popstate", () => {
  if (location.pathname + location.search !== currentAddress) return void show(new URL(location.href));
  pendingAddress = undefined; // another part of this page, or back to it before the other one arrived
  document.querySelector("main")?.removeAttribute("aria-busy");
});
