// Shows the neighbours in a slice when a reader points at it on a word's trajectory; arrow keys move between slices.
// Pages work without it: every slice is a link.
"use strict";

/** @typedef {{slice: string, count: number | null, neighbors: string[]}} SliceNeighbors A count of null is not known. */

/**
 * Listen to pointers, fingers and keys on the trajectories of a page.
 * @param {(word: string, slice: string) => Promise<SliceNeighbors | undefined>} getNeighbors
 * @param {(word: string) => Node} wordLink makes a link to a word, or its text where it has no page
 */
function watchTrajectories(getNeighbors, wordLink) {
  let latestRequest = 0;
  /** @type {SVGAElement | undefined} */
  let active; // the slice whose neighbours are shown
  /** @type {SVGAElement | undefined} */
  let lastTouched; // the slice that a finger left
  /** @type {string | undefined} */
  let lastClicked;
  let byTouch = false; // whether the last press was a finger's
  let firstTouch = false; // whether it was the first on its slice

  /** @param {Event} event */
  async function showNeighbors(event) {
    const link = sliceLinkOf(event);
    const figure = link?.closest("figure");
    const panel = figure?.querySelector(".neighbors-panel");
    if (!link || !figure || !panel) return; // what was requested before may still arrive
    const request = ++latestRequest;
    if (panel.getAttribute("data-slice") === link.dataset.slice) return;
    const found = await getNeighbors(figure.dataset.word ?? "", link.dataset.slice ?? "");
    if (found === undefined || request !== latestRequest) return;
    active?.classList.remove("active");
    active = link;
    active.classList.add("active");
    panel.setAttribute("data-slice", found.slice);
    panel.replaceChildren(bold(found.slice), `${found.count === null ? "" : " " + times(found.count)}. Neighbours: `, ...commaSeparated(found.neighbors, wordLink), pinButton(link));
  }

  document.addEventListener("pointerover", showNeighbors);
  document.addEventListener("focusin", showNeighbors);
  // Slices may be narrower than a finger: it slides over them and sees the neighbours. Only a second tap pins one.
  document.addEventListener("pointerdown", (event) => {
    const link = sliceLinkOf(event);
    byTouch = event.pointerType === "touch";
    firstTouch = byTouch && link !== undefined && link !== lastTouched && link.closest(".trajectory") !== null;
    if (link && event.target instanceof Element && event.target.hasPointerCapture(event.pointerId)) event.target.releasePointerCapture(event.pointerId);
  });
  document.addEventListener("pointerup", (event) => void (lastTouched = event.pointerType === "touch" ? sliceLinkOf(event) : undefined));
  document.addEventListener(
    "click",
    (event) => {
      const link = sliceLinkOf(event);
      if (!link?.closest(".trajectory")) return;
      // The browser counts the clicks of a double click; its second must not remove what the first has pinned.
      const repeated = !byTouch && event.detail > 1 && link.dataset.slice === lastClicked;
      lastClicked = link.dataset.slice;
      if (!firstTouch && !repeated) return;
      event.preventDefault();
      event.stopPropagation();
    },
    true,
  );
  document.addEventListener("keydown", (event) => {
    byTouch = firstTouch = false;
    const link = sliceLinkOf(event);
    if (!link) return;
    const links = [...(link.parentElement?.querySelectorAll(".slice-link") ?? [])];
    const index = links.indexOf(link);
    const targets = /** @type {Record<string, number>} */ ({ ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: links.length - 1, " ": index });
    if (!(event.key in targets)) return;
    event.preventDefault();
    const target = links[targets[event.key]];
    if (event.key === " ") click(link);
    else if (target instanceof SVGElement) target.focus();
  });
}

/**
 * @param {Event} event
 * @returns {SVGAElement | undefined}
 */
function sliceLinkOf(event) {
  const link = event.target instanceof Element ? event.target.closest(".slice-link") : null;
  return link instanceof SVGAElement ? link : undefined;
}

/** @param {Element} element */
function click(element) {
  element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
}

/**
 * Make a button for fingers, which may not hit a narrow slice a second time.
 * @param {Element} sliceLink
 */
function pinButton(sliceLink) {
  const button = document.createElement("button");
  button.addEventListener("click", () => click(sliceLink));
  labelPinButton(button, sliceLink);
  return button;
}

/**
 * @param {Element} button
 * @param {Element} sliceLink
 */
function labelPinButton(button, sliceLink) {
  button.textContent = sliceLink.classList.contains("pinned") ? "Remove" : "Pin";
}

/** @param {number} count */
const times = (count) => (count === 1 ? "once" : `${count.toLocaleString("en")} times`);

/** @param {string} text */
function bold(text) {
  const element = document.createElement("b");
  element.textContent = text;
  return element;
}

/**
 * @param {string[]} words
 * @param {(word: string) => Node} wordLink
 * @returns {(Node | string)[]}
 */
function commaSeparated(words, wordLink) {
  return words.length ? words.flatMap((word, i) => (i ? [", ", wordLink(word)] : [wordLink(word)])) : ["no word occurs often enough"];
}
