// Completes words in the search box, shows what is near, and follows links within a page without leaving it.
// Every page works without it.
"use strict";

const box = /** @type {HTMLInputElement} */ (document.getElementById("q"));
const list = /** @type {HTMLElement} */ (document.getElementById("words"));
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;

box.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    const typed = box.value;
    const found = /** @type {string[] | undefined} */ (await fetched("/suggest.json?q=" + encodeURIComponent(typed)));
    if (box.value !== typed) return; // the reader typed on
    // The browser hides completions that do not begin with what was typed; naming it shows those for a typo too.
    list.replaceChildren(...(found ?? []).map((word) => new Option(word.startsWith(box.value) ? word : `${box.value} → ${word}`, word)));
  }, 120);
});

/**
 * @param {string} address
 * @returns {Promise<unknown>} undefined where there is no answer
 */
async function fetched(address) {
  try {
    const answer = await fetch(address);
    return answer.ok ? await answer.json() : undefined;
  } catch {
    return undefined; // the explorer has been stopped
  }
}

/**
 * Words such as "and/or" are looked up: their addresses are written in another way.
 * @param {string} word
 */
const wordAddress = (word) => (/[./~%]/.test(word) ? "/search?q=" : "/word/") + encodeURIComponent(word);

watchWays(
  async (_, slice) => /** @type {Near | undefined} */ (await fetched(`${location.pathname}/near.json?at=${encodeURIComponent(slice)}`)),
  (word) => {
    const link = document.createElement("a");
    link.href = wordAddress(word);
    link.textContent = word;
    return link;
  },
);

let shown = location.pathname + location.search;
/** @type {URL | undefined} What was asked for last and has not come; a late answer never replaces a newer one. */
let coming;

/**
 * Show an address in the place of this page, without a jump. The address bar changes with the page, not before it:
 * what a reader copies, cites or downloads meanwhile belongs to what they see.
 * @param {URL} address
 * @param {boolean} [there] whether to go to the place that the address names
 */
async function show(address, there) {
  coming = address;
  document.querySelector("main")?.setAttribute("aria-busy", "true");
  let text;
  try {
    text = await (await fetch(address)).text();
  } catch {
    text = ""; // the explorer has been stopped: the browser says so
  }
  if (coming !== address) return;
  coming = undefined;
  const page = new DOMParser().parseFromString(text, "text/html");
  const main = page.querySelector("main");
  if (!main) return void location.assign(address);
  if (location.href !== address.href) history.pushState(null, "", address);
  shown = address.pathname + address.search;
  document.title = page.title;
  const focused = placeOf(document.activeElement);
  document.querySelector("footer")?.remove();
  document.querySelector("main")?.replaceWith(main, ...page.querySelectorAll("footer"));
  const target = there && address.hash ? document.getElementById(address.hash.slice(1)) : null;
  target?.scrollIntoView();
  const next = target ?? focused?.();
  if (next && !next.matches(FOCUSABLE)) next.setAttribute("tabindex", "-1");
  next?.focus({ preventScroll: true });
  const status = document.getElementById("status");
  if (status) status.textContent = page.title;
}

const FOCUSABLE = "a, button, input, select, summary";

/**
 * Remember what a reader was at: its counterpart on the next page is what has the same name, or else the content.
 * @param {Element | null} element
 */
function placeOf(element) {
  if (!element?.closest("main")) return undefined;
  /** @param {Element} one */
  const name = (one) => [one.tagName, one.getAttribute("name"), one.getAttribute("data-slice") ?? one.getAttribute("aria-label") ?? one.textContent].join();
  const same = () => /** @type {(HTMLElement | SVGElement)[]} */ ([...document.querySelectorAll("main " + FOCUSABLE.replaceAll(", ", ", main "))]).filter((one) => name(one) === name(element));
  const place = same().findIndex((one) => one === element);
  return () => same()[place] ?? document.querySelector("main");
}

/**
 * Keep a slice beside those of the page that is coming, or put it away, for readers who do not wait for it.
 * @param {URL} page
 * @param {string} slice
 */
function kept(page, slice) {
  const address = new URL(page);
  const before = address.searchParams.getAll("at");
  const most = Number(document.querySelector(".way")?.getAttribute("data-most"));
  const after = before.includes(slice) ? before.filter((other) => other !== slice) : [...before, slice].slice(-most);
  address.searchParams.delete("at");
  for (const one of after) address.searchParams.append("at", one);
  if (after.includes(slice)) address.searchParams.set("text", slice);
  else address.searchParams.delete("text");
  return address;
}

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[data-in-place], .way .strip") : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const slice = link instanceof SVGElement ? link.dataset.slice : undefined;
  const address = new URL(link.getAttribute("href") ?? "", location.href);
  show(slice !== undefined && coming?.searchParams.has("at") ? kept(coming, slice) : address, slice === undefined);
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !form.hasAttribute("data-in-place")) return;
  event.preventDefault();
  const address = new URL(form.action);
  const given = [...new FormData(form)].filter(([, value]) => value !== "").map(([name, value]) => [name, String(value)]);
  address.search = new URLSearchParams(given).toString();
  show(address);
});

window.addEventListener("popstate", () => {
  if (location.pathname + location.search !== shown) return void show(new URL(location.href));
  coming = undefined; // another place of this page, or back to it before the other one had come
  document.querySelector("main")?.removeAttribute("aria-busy");
});
