"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // theme: the system's until the reader chooses
  const root = document.documentElement;
  const theme = byId("theme");
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const remembered = () => { try { return localStorage.getItem("specfloor-theme"); } catch { return null; } };
  const remember = (value) => { try { localStorage.setItem("specfloor-theme", value); } catch { /* private window */ } };
  const isDark = () => (root.dataset.theme || (systemDark.matches ? "dark" : "light")) === "dark";
  const showTheme = () => theme.setAttribute("aria-pressed", String(isDark()));
  if (remembered()) root.dataset.theme = remembered();
  theme.hidden = false;
  showTheme();
  systemDark.addEventListener("change", showTheme);
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    showTheme();
  });

  // sorting: numbers as numbers, what is not known last either way
  const keyOf = (row, column) => row.cells[column].dataset.key;
  const compare = (a, b) => {
    const [x, y] = [Number(a), Number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, undefined, { numeric: true }) : x - y;
  };
  const sortBy = (header) => {
    const body = header.closest("table").tBodies[0];
    const column = header.cellIndex;
    const descending = header.getAttribute("aria-sort") === "ascending";
    for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [keyOf(a, column), keyOf(b, column)];
      if (!x || !y) return Number(!x) - Number(!y);
      return descending ? compare(y, x) : compare(x, y);
    });
    body.append(...rows);
  };
  for (const button of all(".sort")) button.addEventListener("click", () => sortBy(button.closest("th")));

  // filters: rows of the table decide, the matrix and the cells follow
  const fields = { release: byId("by-release"), family: byId("by-family"), standing: byId("by-standing") };
  const find = byId("find");
  const shown = byId("shown");
  const rows = all("#table tbody tr");
  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = new Set();
    for (const row of rows) {
      const text = `${row.textContent} ${row.dataset.more}`.toLowerCase();
      const fits = Object.entries(fields).every(([name, field]) => !field.value || row.dataset[name] === field.value)
        && words.every((word) => text.includes(word));
      row.hidden = !fits;
      if (fits) kept.add(row);
    }
    const left = (name) => new Set([...kept].map((row) => row.dataset[name]));
    const [releases, families] = [left("release"), left("family")];
    for (const row of all("#matrix tbody tr")) row.hidden = !families.has(row.dataset.family);
    const heads = byId("matrix").tHead.rows[0].cells;
    for (const square of all("#matrix [data-release]")) {
      square.hidden = !releases.has(square.dataset.release);
      heads[square.cellIndex].hidden = square.hidden;
    }
    const anchors = new Set([...kept].map((row) => row.querySelector("a").hash.slice(1)));
    for (const cell of all(".cell")) cell.hidden = !anchors.has(cell.id);
    shown.textContent = shown.dataset.text.replace("{shown}", kept.size).replace("{all}", rows.length);
  };
  byId("filters").hidden = false;
  find.addEventListener("input", filter);
  for (const field of Object.values(fields)) field.addEventListener("change", filter);
  byId("clear").addEventListener("click", () => {
    for (const field of [find, ...Object.values(fields)]) field.value = "";
    filter();
    find.focus();
  });
  filter();

  // cells: a link to one opens it, paper has them all
  const cells = all("details");
  const reveal = () => {
    const target = byId(decodeURIComponent(location.hash.slice(1)));
    if (target?.matches(".cell")) {
      target.hidden = false;
      target.open = true;
      target.scrollIntoView();
      target.querySelector("summary").focus({ preventScroll: true });
    }
  };
  addEventListener("hashchange", reveal);
  reveal();
  const openAll = byId("open-all");
  const openText = openAll.textContent;
  openAll.hidden = false;
  openAll.addEventListener("click", () => {
    const open = !openAll.classList.toggle("opened");
    for (const cell of cells) cell.open = !open;
    openAll.textContent = open ? openText : openAll.dataset.close;
  });
  let before = [];
  addEventListener("beforeprint", () => {
    before = cells.filter((cell) => !cell.open);
    for (const cell of before) cell.open = true;
  });
  addEventListener("afterprint", () => { for (const cell of before) cell.open = false; });

  // copying
  const select = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  };
  for (const button of all(".copy")) {
    button.hidden = false;
    const text = button.textContent;
    button.addEventListener("click", async () => {
      const code = button.previousElementSibling;
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = button.dataset.done;
        setTimeout(() => { button.textContent = text; }, 1500);
      } catch {
        select(code);
      }
    });
  }
})();
