// Finds a word of the report. The list of words on the first page works without it.
"use strict";
const box = document.getElementById("q");
box.addEventListener("change", () => {
  const asked = box.value.trim().toLowerCase();
  const words = [...document.querySelectorAll("#words option")].map((option) => option.textContent);
  const found = words.find((word) => word === asked) ?? words.find((word) => word.startsWith(asked));
  const page = [...document.querySelectorAll("section.page")].find((section) => section.dataset.word === found);
  if (asked && page !== undefined) location.hash = encodeURIComponent(page.id);
});
