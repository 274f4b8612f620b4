// What is near shows when a reader points at a slice of a word's way; arrow keys lead from slice to slice.
// Pages work without it: every slice is a link.
"use strict";

/** @typedef {{slice: string, count: number, neighbors: string[]}} Near */

/**
 * Watch the ways on a page.
 * @param {(word: string, slice: string) => Promise<Near | undefined>} ask finds what is near to a word in a slice
 * @param {(word: string) => Node} linked makes a link to a word, or its text
 */
function watchWays(ask, linked) {
  let latest = 0;

  /** @param {Event} event */
  async function show(event) {
    const strip = stripOf(event);
    const figure = strip?.closest("figure");
    const panel = figure?.querySelector(".near");
    if (!strip || !figure || !panel || panel.getAttribute("data-slice") === strip.dataset.slice) return;
    const turn = ++latest;
    const near = await ask(figure.dataset.word ?? "", strip.dataset.slice ?? "");
    if (near === undefined || turn !== latest) return;
    panel.setAttribute("data-slice", near.slice);
    panel.replaceChildren(strong(near.slice), ` ${near.count.toLocaleString("en")} times; near to `, ...listed(near.neighbors, linked));
  }

  document.addEventListener("pointerover", show);
  document.addEventListener("focusin", show);
  document.addEventListener("keydown", (event) => {
    const strip = stripOf(event);
    if (!strip) return;
    const strips = [...(strip.parentElement?.querySelectorAll(".strip") ?? [])];
    const place = strips.indexOf(strip);
    const places = /** @type {Record<string, number>} */ ({ ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: strips.length - 1, " ": place });
    const next = strips[places[event.key]];
    if (!(event.key in places)) return;
    event.preventDefault();
    if (event.key === " ") strip.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
    else if (next instanceof SVGElement) next.focus();
  });
}

/**
 * @param {Event} event
 * @returns {SVGAElement | undefined}
 */
function stripOf(event) {
  const found = event.target instanceof Element ? event.target.closest(".strip") : null;
  return found instanceof SVGAElement ? found : undefined;
}

/** @param {string} text */
function strong(text) {
  const node = document.createElement("b");
  node.textContent = text;
  return node;
}

/**
 * @param {string[]} words
 * @param {(word: string) => Node} linked
 * @returns {(Node | string)[]}
 */
function listed(words, linked) {
  return words.length ? words.flatMap((word, i) => (i ? [", ", linked(word)] : [linked(word)])) : ["no word that occurs often enough"];
}
