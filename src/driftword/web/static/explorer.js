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
/** Counts what was asked for, so that a late answer never replaces a newer one. */
let asked = 0;

/**
 * Show an address in the place of this page, without a jump. The address bar changes with the page, not before it:
 * what a reader copies, cites or downloads meanwhile belongs to what they see.
 * @param {URL} address
 * @param {string} [focused] slice to focus again
 */
async function show(address, focused) {
  const turn = ++asked;
  document.querySelector("main")?.setAttribute("aria-busy", "true");
  let text;
  try {
    text = await (await fetch(address)).text();
  } catch {
    text = ""; // the explorer has been stopped: the browser says so
  }
  if (turn !== asked) return;
  const page = new DOMParser().parseFromString(text, "text/html");
  const main = page.querySelector("main");
  if (!main) return void location.assign(address);
  if (location.href !== address.href) history.pushState(null, "", address);
  shown = address.pathname + address.search;
  document.title = page.title;
  document.querySelector("main")?.replaceWith(main);
  for (const strip of focused === undefined ? [] : document.querySelectorAll(".way .strip"))
    if (strip instanceof SVGElement && strip.dataset.slice === focused) strip.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[data-in-place], .way .strip") : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const address = new URL(link.getAttribute("href") ?? "", location.href);
  const slice = link instanceof SVGElement ? link.dataset.slice : undefined;
  show(address, slice).then(() => slice === undefined && address.hash && document.querySelector(address.hash)?.scrollIntoView());
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
  asked += 1; // another place of this page, or back to it before the other one had come
  document.querySelector("main")?.removeAttribute("aria-busy");
});
