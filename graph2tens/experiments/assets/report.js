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
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const target of targets) {
      const chosen = selects.every((select) => !select.value || !(select.dataset.facet in target.dataset) || target.dataset[select.dataset.facet] === select.value);
      target.hidden = !(chosen && (!("text" in target.dataset) || words.every((word) => target.dataset.text.includes(word))));
    }
    document.getElementById("shown").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} cells shown`;
  };
  for (const kind of ["input", "change"]) form.addEventListener(kind, apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply)); // the fields are empty only after the event
  apply();
}

// Paper has no triangles to click: open what is folded while printing.
const folded = [];
addEventListener("beforeprint", () => { for (const part of document.querySelectorAll("details:not([open])")) { part.open = true; folded.push(part); } });
addEventListener("afterprint", () => { for (const part of folded.splice(0)) part.open = false; });
