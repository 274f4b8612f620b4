// What readers do with figures: point at a slice to see its neighbours and the values of all figures there, open a table
// of the values, and move a word along its journey. Pages work without it: every slice is a link.
"use strict";

/** @typedef {{slice: string, count: number | null, neighbors: string[], passages?: Passage[]}} SliceNeighbors A count of null is not known. */
/** @typedef {{left: string, keyword: string, right: string, when: string}} Passage */

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
    const figures = link?.closest(".chart-and-text");
    const panel = figures?.querySelector(".neighbors-panel");
    if (!link || !figures || !panel) return; // what was requested before may still arrive
    const request = ++latestRequest;
    if (panel.getAttribute("data-slice") === link.dataset.slice) return;
    const found = await getNeighbors(figures.getAttribute("data-word") ?? "", link.dataset.slice ?? "");
    if (found === undefined || request !== latestRequest) return;
    active?.classList.remove("active");
    active = link;
    active.classList.add("active");
    panel.setAttribute("data-slice", found.slice);
    const often = found.count === null ? "" : found.count === 0 ? ": does not occur here, so its vector is a guess" : " " + times(found.count);
    panel.replaceChildren(bold(found.slice), `${often}. Neighbours: `, ...commaSeparated(found.neighbors, wordLink), pinButton(link), ...(found.passages ?? []).map(quotation));
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

/** @param {Passage} passage */
function quotation(passage) {
  const quote = document.createElement("q");
  const keyword = document.createElement("mark");
  keyword.textContent = passage.keyword;
  const source = document.createElement("span");
  source.className = "source";
  source.textContent = passage.when;
  // At most 70 letters on either side, and whole words.
  const [left, right] = [passage.left.slice(-70), passage.right.slice(0, 70)];
  quote.append("…" + (passage.left.length > 70 ? left.replace(/^\S+\s/, "") : left), keyword, (passage.right.length > 70 ? right.replace(/\s\S+$/, "") : right) + "… ", source);
  return quote;
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

// -- values ------------------------------------------------------------------------------------------------

/** @param {Element} svg */
const slicePlaces = (svg) => (svg.getAttribute("data-x") ?? "").split(" ").map(Number);

/**
 * Return the point of a figure, in its own units, at which a pointer is.
 * @param {SVGSVGElement} svg
 * @param {PointerEvent} event
 */
function pointIn(svg, event) {
  const matrix = svg.getScreenCTM();
  return matrix ? new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse()) : undefined;
}

/**
 * @param {number[]} places
 * @param {number} x
 */
const nearestPlace = (places, x) => places.reduce((best, place, t) => (Math.abs(place - x) < Math.abs(places[best] - x) ? t : best), 0);

/**
 * Draw one line through all figures of a page at a slice, and write their values there beside their titles.
 * @param {Element} scope the page
 * @param {string[]} labels of all slices
 * @param {number | undefined} t the slice; none removes the lines
 * @param {{svg: Element, row: string} | undefined} [pointed] the row of a stream that a pointer is in
 */
function showCrosshair(scope, labels, t, pointed) {
  for (const svg of scope.querySelectorAll("svg[data-x]")) {
    let line = svg.querySelector(".crosshair");
    const output = svg.closest("figure")?.querySelector(".values");
    if (t === undefined) {
      line?.remove();
      if (output) output.textContent = "";
      continue;
    }
    if (!line) {
      line = document.createElementNS("http://www.w3.org/2000/svg", "path");
      line.setAttribute("class", "crosshair");
      svg.append(line);
    }
    const bottom = /** @type {SVGSVGElement} */ (svg).viewBox.baseVal.height - 26;
    line.setAttribute("d", `M${slicePlaces(svg)[t]} 16V${bottom}`);
    if (output) output.textContent = `${labels[t]}: ${valuesAt(svg, t, pointed?.svg === svg ? pointed.row : undefined)}`;
  }
}

/**
 * @param {Element} svg
 * @param {number} t
 * @param {string} [row] only this one
 */
function valuesAt(svg, t, row) {
  const all = Object.entries(figureValues(svg)).map(([name, values]) => ({ name, value: values[t] }));
  const several = all.length > 1;
  let known = all.filter((one) => one.value !== null && (row === undefined || one.name === row));
  if (svg.classList.contains("stream") && row === undefined) known = known.sort((a, b) => Number(b.value) - Number(a.value)).slice(0, 3);
  const texts = known.map(({ name, value }) => (several ? `${name} ` : "") + Number(value).toLocaleString("en", { maximumSignificantDigits: 3 }));
  return texts.join(", ") || "no value";
}

/**
 * @param {Element} svg
 * @returns {Record<string, (number | null)[]>}
 */
const figureValues = (svg) => JSON.parse(svg.getAttribute("data-values") ?? "{}");

/**
 * Give every figure a place for values, and a table of them that readers can open.
 * @param {Element} scope
 * @param {string[]} labels
 */
function addValues(scope, labels) {
  for (const svg of scope.querySelectorAll("svg[data-values]")) {
    const figure = svg.closest("figure");
    const caption = figure?.querySelector("figcaption");
    if (!figure || !caption || figure.hasAttribute("data-valued")) continue;
    figure.setAttribute("data-valued", "");
    const details = figure.querySelector(".values-table");
    details?.addEventListener("toggle", () => details.querySelector("table") ?? details.lastElementChild?.replaceWith(valuesTable(svg, labels)));
  }
}

/**
 * @param {Element} svg
 * @param {string[]} labels
 */
function valuesTable(svg, labels) {
  const values = figureValues(svg);
  const names = Object.keys(values);
  const table = document.createElement("table");
  table.tabIndex = 0;
  /** @param {string} tag @param {string} text @param {string} [scope] */
  const cell = (tag, text, scope) => {
    const element = document.createElement(tag);
    element.textContent = text;
    if (scope) element.setAttribute("scope", scope);
    else element.className = "numeric";
    return element;
  };
  const head = table.createTHead().insertRow();
  head.append(cell("th", "slice", "col"), ...names.map((name) => cell("th", name, "col")));
  const body = table.createTBody();
  labels.forEach((label, t) => {
    const numbers = names.map((name) => cell("td", values[name][t] === null ? "–" : Number(values[name][t]).toLocaleString("en", { maximumSignificantDigits: 4 })));
    body.insertRow().append(cell("th", label, "row"), ...numbers);
  });
  table.setAttribute("aria-label", svg.getAttribute("aria-label") ?? "values");
  return table;
}

/**
 * Show the values of all figures of a page at the slice that a reader points at in one of them.
 * @param {() => string[]} getLabels
 */
function watchFigures(getLabels) {
  document.addEventListener("pointermove", (event) => {
    const svg = event.target instanceof Element ? event.target.closest("svg[data-x]") : null;
    const scope = svg?.closest(".page, main");
    if (!(svg instanceof SVGSVGElement) || !scope) return;
    const point = pointIn(svg, event);
    if (point) showCrosshair(scope, getLabels(), nearestPlace(slicePlaces(svg), point.x), rowAt(svg, point.y));
  });
  document.addEventListener("pointerout", (event) => {
    const to = event.relatedTarget;
    const from = event.target instanceof Element ? event.target.closest("svg[data-x]") : null;
    if (from && !(to instanceof Element && to.closest("svg[data-x]"))) showCrosshair(from.closest(".page, main") ?? document.body, [], undefined);
  });
  document.addEventListener("focusin", (event) => {
    const link = sliceLinkOf(event);
    const scope = link?.closest(".page, main");
    const t = getLabels().indexOf(link?.dataset.slice ?? "");
    if (scope && t >= 0) showCrosshair(scope, getLabels(), t);
  });
}

/**
 * @param {Element} svg
 * @param {number} y
 */
function rowAt(svg, y) {
  const [top, height] = (svg.getAttribute("data-rows") ?? "").split(" ").map(Number);
  const row = height ? Object.keys(figureValues(svg))[Math.floor((y - top) / height)] : undefined;
  return row === undefined ? undefined : { svg, row };
}

/**
 * Draw the interval around a line, stretch by stretch where there are values.
 * @param {Element} svg
 * @param {(number | null)[]} low
 * @param {(number | null)[]} high
 * @param {number} color the number of the line's colour
 */
function drawBand(svg, low, high, color) {
  const [least, most, bottom, top] = (svg.getAttribute("data-scale") ?? "").split(" ").map(Number);
  const places = slicePlaces(svg);
  /** @param {number | null} value */
  const y = (value) => (bottom - ((Math.min(Number(value), most) - least) / (most - least)) * (bottom - top)).toFixed(1);
  /** @type {number[][]} */
  const stretches = [[]];
  low.forEach((value, t) => (value === null || high[t] === null ? stretches.push([]) : stretches[stretches.length - 1].push(t)));
  const shapes = stretches.filter((stretch) => stretch.length).map((stretch) => {
    const above = stretch.map((t) => `${places[t]} ${y(high[t])}`);
    const below = stretch.map((t) => `${places[t]} ${y(low[t])}`).reverse();
    return `M${[...above, ...below].join("L")}z`;
  });
  const band = document.createElementNS("http://www.w3.org/2000/svg", "path");
  band.setAttribute("class", `interval s${color}`);
  band.setAttribute("d", shapes.join(""));
  svg.querySelector("g")?.before(band);
}

/**
 * Let readers drag over a period of a timeline.
 * @param {Element | null} figure
 * @param {(first: number, last: number) => void} choose called with the numbers of the first and the last slice
 */
function watchBrush(figure, choose) {
  const svg = figure?.querySelector("svg");
  if (!svg) return;
  const places = slicePlaces(svg);
  /** @type {number | undefined} */
  let from;
  /** @type {Element | undefined} */
  let brush;
  let dragged = false;
  svg.addEventListener("pointerdown", (event) => {
    const point = pointIn(svg, event);
    if (event.button || !point || (event.target instanceof Element && event.target.closest("a:not(.slice-link)"))) return;
    from = nearestPlace(places, point.x);
    dragged = false;
  });
  svg.addEventListener("pointermove", (event) => {
    const point = pointIn(svg, event);
    if (from === undefined || !point) return;
    const to = nearestPlace(places, point.x);
    if (to !== from && !dragged) {
      dragged = true;
      svg.setPointerCapture(event.pointerId);
      brush = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      brush.setAttribute("class", "brush");
      brush.setAttribute("y", "0");
      brush.setAttribute("height", String(svg.viewBox.baseVal.height - 26));
      svg.append(brush);
    }
    const half = (places[1] - places[0]) / 2 || 4;
    brush?.setAttribute("x", String(Math.min(places[from], places[to]) - half));
    brush?.setAttribute("width", String(Math.abs(places[to] - places[from]) + 2 * half));
  });
  svg.addEventListener("pointerup", (event) => {
    const point = pointIn(svg, event);
    if (from !== undefined && dragged && point) {
      const to = nearestPlace(places, point.x);
      brush?.remove();
      showCrosshair(figure?.closest(".page, main") ?? document.body, [], undefined);
      choose(Math.min(from, to), Math.max(from, to));
    }
    from = undefined;
  });
  svg.addEventListener("pointercancel", () => (brush?.remove(), (from = undefined)));
  // Links can be dragged, too, and a drag ends with a click.
  svg.addEventListener("dragstart", (event) => event.preventDefault());
  svg.addEventListener("click", (event) => dragged && (event.preventDefault(), event.stopPropagation(), (dragged = false)), true);
}

// -- journeys ----------------------------------------------------------------------------------------------

/**
 * Let readers move a word along its path: with a slider, or by playing it.
 * @param {Element} scope
 * @param {string[]} labels
 */
function addPlayers(scope, labels) {
  for (const svg of scope.querySelectorAll("svg[data-path]")) {
    const figure = svg.closest("figure");
    if (!figure) continue;
    const path = (svg.getAttribute("data-path") ?? "").split(" ").map((pair) => pair.split(",").map(Number));
    const [first, last] = [Number(svg.getAttribute("data-first")), Number(svg.getAttribute("data-last"))];
    if (first === last) continue;
    const player = figure.querySelector(".player");
    if (!player || player.children.length) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Play";
    const slider = document.createElement("input");
    slider.type = "range";
    slider.min = String(first);
    slider.max = String(last);
    slider.step = "any";
    slider.setAttribute("aria-label", "Time");
    const output = document.createElement("output");
    player.append(button, slider, output);
    /** @type {number | undefined} */
    let frame;
    /** @param {number} time a slice, or a place between two */
    const move = (time) => {
      const t = Math.min(Math.floor(time), path.length - 2);
      const share = time - t;
      /** @param {number} at */
      const between = (at) => path[at].map((value, i) => (at + 1 < path.length ? value + (path[at + 1][i] - value) * share : value).toFixed(1));
      const here = between(t);
      svg.querySelector(".here")?.setAttribute("cx", here[0]);
      svg.querySelector(".here")?.setAttribute("cy", here[1]);
      const trail = path.slice(Math.max(first, t - 5), t + 1).map((point) => point.join(" "));
      svg.querySelector(".trail.recent")?.setAttribute("d", "M" + [...trail, here.join(" ")].join("L"));
      for (const anchor of svg.querySelectorAll(".anchor")) {
        const near = Number((anchor.getAttribute("data-near") ?? "").split(",")[Math.round(time)] || 0);
        anchor.setAttribute("opacity", Math.min(1, Math.max(0.75, (near - 0.1) / 0.4)).toFixed(2));
        anchor.classList.toggle("near", near >= 0.4);
      }
      slider.value = String(time);
      slider.setAttribute("aria-valuetext", labels[Math.round(time)]);
      output.textContent = labels[Math.round(time)];
    };
    const stop = () => {
      if (frame !== undefined) cancelAnimationFrame(frame);
      frame = undefined;
      button.textContent = "Play";
    };
    slider.addEventListener("input", () => (stop(), move(Number(slider.value))));
    slider.addEventListener("keydown", (event) => {
      const step = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 })[event.key];
      if (step === undefined) return;
      event.preventDefault();
      stop();
      move(Math.min(last, Math.max(first, Math.round(Number(slider.value)) + step)));
    });
    button.addEventListener("click", () => {
      if (frame !== undefined) return stop();
      const from = Number(slider.value) >= last ? first : Number(slider.value);
      const began = performance.now();
      button.textContent = "Pause";
      /** @param {number} now */
      const step = (now) => {
        const time = from + Math.max(0, now - began) / Math.max(120, 9000 / (last - first));
        if (time >= last || !svg.isConnected) return move(last), stop();
        move(time);
        frame = requestAnimationFrame(step);
      };
      frame = requestAnimationFrame(step);
    });
    move(last);
  }
}

/** Add buttons that copy the address of this page, and what the footer has to cite; not where browsers forbid it. */
function addCopies() {
  const footer = document.querySelector("footer");
  if (!footer || !navigator.clipboard || footer.querySelector("button")) return;
  const buttons = document.createElement("p");
  buttons.className = "screen-only copies";
  /** @type {[string, () => string][]} */
  const texts = [["link", () => location.href]];
  for (const one of footer.querySelectorAll("[data-copy]")) texts.push([one.getAttribute("data-copy") ?? "", () => one.textContent ?? ""]);
  for (const [name, text] of texts) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `Copy ${name}`;
    button.addEventListener("click", async () => {
      const copied = await navigator.clipboard.writeText(text()).then(() => true, () => false);
      button.textContent = copied ? `Copied the ${name}` : `The browser does not let the ${name} be copied`;
      setTimeout(() => (button.textContent = `Copy ${name}`), 3000);
    });
    buttons.append(button, " ");
  }
  footer.append(buttons);
}
