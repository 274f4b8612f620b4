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
  /** @type {SVGAElement | undefined} */
  let here; // the slice that is told of
  /** @type {SVGAElement | undefined} */
  let touched; // the slice that a finger left
  /** @type {{slice?: string, time: number}} */
  let pressed = { time: -1000 }; // the last click that counted: the second of a double click does not put away again
  let first = false; // whether a finger has come to another one

  /** @param {Event} event */
  async function show(event) {
    const strip = stripOf(event);
    const figure = strip?.closest("figure");
    const panel = figure?.querySelector(".near");
    if (!strip || !figure || !panel) return; // what was asked for may still come
    const turn = ++latest;
    if (panel.getAttribute("data-slice") === strip.dataset.slice) return;
    const near = await ask(figure.dataset.word ?? "", strip.dataset.slice ?? "");
    if (near === undefined || turn !== latest) return;
    here?.classList.remove("here");
    here = strip;
    here.classList.add("here");
    panel.setAttribute("data-slice", near.slice);
    panel.replaceChildren(strong(near.slice), ` ${times(near.count)}; near to `, ...listed(near.neighbors, linked), keep(strip));
  }

  document.addEventListener("pointerover", show);
  document.addEventListener("focusin", show);
  // Slices may be narrower than a finger: it slides over them, and what is near shows on the way. Only a second tap keeps.
  document.addEventListener("pointerdown", (event) => {
    const strip = stripOf(event);
    first = event.pointerType === "touch" && strip !== undefined && strip !== touched && strip.closest(".way") !== null;
    if (strip && event.target instanceof Element && event.target.hasPointerCapture(event.pointerId)) event.target.releasePointerCapture(event.pointerId);
  });
  document.addEventListener("pointerup", (event) => void (touched = event.pointerType === "touch" ? stripOf(event) : undefined));
  document.addEventListener(
    "click",
    (event) => {
      const strip = stripOf(event);
      if (!strip?.closest(".way")) return;
      const again = event.isTrusted && strip.dataset.slice === pressed.slice && event.timeStamp - pressed.time < 500;
      if (!first && !again) return void (pressed = { slice: strip.dataset.slice, time: event.timeStamp });
      event.preventDefault();
      event.stopPropagation();
    },
    true,
  );
  document.addEventListener("keydown", (event) => {
    first = false;
    const strip = stripOf(event);
    if (!strip) return;
    const strips = [...(strip.parentElement?.querySelectorAll(".strip") ?? [])];
    const place = strips.indexOf(strip);
    const places = /** @type {Record<string, number>} */ ({ ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: strips.length - 1, " ": place });
    const next = strips[places[event.key]];
    if (!(event.key in places)) return;
    event.preventDefault();
    if (event.key === " ") press(strip);
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

/** @param {Element} strip */
function press(strip) {
  strip.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
}

/**
 * Make a button for fingers, which may not hit a narrow slice a second time.
 * @param {Element} strip
 */
function keep(strip) {
  const button = document.createElement("button");
  button.addEventListener("click", () => press(strip));
  nameKeep(button, strip);
  return button;
}

/**
 * @param {Element} button
 * @param {Element} strip
 */
function nameKeep(button, strip) {
  button.textContent = strip.classList.contains("kept") ? "Put it away" : "Keep it";
}

/** @param {number} count */
const times = (count) => (count === 1 ? "once" : `${count.toLocaleString("en")} times`);

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
