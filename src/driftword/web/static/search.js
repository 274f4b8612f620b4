// Completes words in the search box. The page works without it.
"use strict";
const box = document.getElementById("q");
const list = document.getElementById("words");
/** @type {number | undefined} */
let waiting;
box.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    const answer = await fetch("/suggest.json?q=" + encodeURIComponent(box.value));
    if (!answer.ok) return;
    list.replaceChildren(...(await answer.json()).map((/** @type {string} */ word) => new Option(word)));
  }, 120);
});
