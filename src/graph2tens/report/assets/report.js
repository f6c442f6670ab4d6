"use strict";
// Everything is on the page already; this only sorts, filters and switches colours.
const root = document.documentElement;
root.classList.add("js");

// Colours: the system's choice until the reader makes one. Storage may be forbidden (file: pages in some browsers), which is no error.
const theme = document.getElementById("theme");
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const remembered = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
const showTheme = () => {
  const other = isDark() ? "Light" : "Dark";
  theme.textContent = other;
  theme.setAttribute("aria-label", `Switch to ${other.toLowerCase()} colours`);
};
if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
theme.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* not remembered, then */ }
  showTheme();
});
prefersDark.addEventListener("change", showTheme);
showTheme();

// Sorting. Numbers by data-sort, text by itself; rows without a value stay last in both directions.
const compare = new Intl.Collator("en", { numeric: true }).compare;
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => heading.querySelector("button").addEventListener("click", () => {
    const numeric = heading.classList.contains("number");
    const before = heading.getAttribute("aria-sort");
    const descending = before === "none" ? numeric : before === "ascending"; // numbers: largest first
    for (const other of headings) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const value = (row) => { const cell = row.cells[column]; return numeric ? cell.dataset.sort : cell.textContent.trim(); };
    const rows = [...table.tBodies[0].rows];
    const filled = rows.filter((row) => value(row) !== "").sort((a, b) => numeric ? value(a) - value(b) : compare(value(a), value(b)));
    if (descending) filled.reverse();
    table.tBodies[0].append(...filled, ...rows.filter((row) => value(row) === ""));
  }));
}

// Filtering: rows and pictures carry what they are about as data attributes; a picture without an attribute is not judged by it.
const form = document.querySelector("form.filters");
if (form) {
  const search = document.getElementById("search");
  const selects = [...form.querySelectorAll("select")];
  const targets = [...document.querySelectorAll("main tr[data-text], main figure[data-dataset]")];
  const rows = targets.filter((target) => target.matches("tr"));
  const groups = [...document.querySelectorAll("main .group, main section > .panels, main section > details")];
  // A word finds what begins with it, as one types; once it is a whole word somewhere ("nci1"), only that ("nci109" is another).
  const split = (text) => text.split(/[\s,]+/).filter(Boolean);
  const texts = new Map(targets.map((target) => [target, split(target.dataset.text ?? "")]));
  const known = new Set([...texts.values()].flat());
  const finds = (target, word) => texts.get(target).some((other) => known.has(word) ? other === word : other.startsWith(word));
  const apply = () => {
    const words = split(search.value.toLowerCase());
    for (const target of targets) {
      const chosen = selects.every((select) => !select.value || !(select.dataset.facet in target.dataset) || target.dataset[select.dataset.facet] === select.value);
      target.hidden = !(chosen && (!("text" in target.dataset) || words.every((word) => finds(target, word))));
    }
    for (const group of groups) { // a heading over nothing would only be in the way
      const inside = targets.filter((target) => group.contains(target));
      group.hidden = inside.length > 0 && inside.every((target) => target.hidden);
    }
    document.getElementById("shown").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} cells shown`;
  };
  for (const kind of ["input", "change"]) form.addEventListener(kind, apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply)); // the fields are empty only after the event
  apply();
}

// Only what scrolls needs to be reached by the keyboard for it.
const regions = [...document.querySelectorAll(".scroll")];
const setReach = () => {
  for (const region of regions) {
    if (region.scrollWidth > region.clientWidth) region.tabIndex = 0;
    else region.removeAttribute("tabindex");
  }
};
addEventListener("resize", setReach);
document.addEventListener("toggle", setReach, true); // what was folded had no width
setReach();

// Paper has no triangles to click: open what is folded while printing, but for the list of all runs.
const folded = [];
addEventListener("beforeprint", () => { for (const part of document.querySelectorAll("details:not([open], .long)")) { part.open = true; folded.push(part); } });
addEventListener("afterprint", () => { for (const part of folded.splice(0)) part.open = false; });
