"use strict";
(() => {
  const all = (query, within = document) => [...within.querySelectorAll(query)];
  const text = (cell) => cell.textContent.trim();
  const rank = (cell) => Number(cell.className.slice(1));
  const order = { broke: 0, "not assessed": 1, "not in its suite": 2, held: 3 };
  const keys = {
    place: (row) => row.place,
    text: (row, at) => text(row.cells[at]),
    level: (row, at) => rank(row.cells[at]),
    number: (row, at) => Number(text(row.cells[at])),
    broke: (row, at) => order[text(row.cells[at])],
  };
  const mostFirst = ["level", "number"];
  const compared = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

  // Sorting: equals stay in the order of names, whichever way a column is sorted.
  function sort(table, heading) {
    const kind = heading.dataset.sort;
    const before = heading.getAttribute("aria-sort");
    const down = before ? before === "ascending" : mostFirst.includes(kind);
    const key = keys[kind];
    const at = [...heading.parentNode.cells].indexOf(heading);
    const rows = table.rowsInPlace.map((row) => [key(row, at), row]);
    rows.sort(([a, one], [b, other]) => (down ? -1 : 1) * compared(a, b) || one.place - other.place);
    for (const other of all("[aria-sort]", table)) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }

  for (const table of all("table.submissions, table.map")) {
    table.rowsInPlace = [...table.tBodies[0].rows];
    table.rowsInPlace.forEach((row, place) => { row.place = place; });
    for (const heading of all("[data-sort]", table)) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(table, heading));
      heading.append(button);
    }
    all('[data-sort="place"]', table)[0].setAttribute("aria-sort", "ascending");
  }

  // Filtering: a row of a map is shown when the row of the same scorecard is.
  const [find, problem, level, count] = ["find", "problem", "level", "count"].map((id) => document.getElementById(id));
  const link = (row) => row.querySelector("a").getAttribute("href");
  const rows = document.getElementById("table").rowsInPlace.map((row) => ({
    row, words: row.textContent.toLowerCase(), problem: text(row.cells[1]), level: text(row.cells[2]),
  }));
  const shown = new Map();
  function filter() {
    const wanted = find.value.trim().toLowerCase();
    let left = 0;
    for (const one of rows) {
      const fits = one.words.includes(wanted) && (!problem.value || one.problem === problem.value)
        && (!level.value || one.level === level.value);
      one.row.hidden = !fits;
      shown.set(link(one.row), fits);
      left += fits;
    }
    for (const row of all("table.map > tbody > tr")) row.hidden = !shown.get(link(row));
    for (const section of all("[data-problem]")) {
      section.hidden = problem.value !== "" && section.dataset.problem !== problem.value;
    }
    count.textContent = left === rows.length ? `all ${left}` : `${left} of ${rows.length}`;
  }
  const whole = document.getElementById("whole");
  const brief = () => document.getElementById("table").classList.toggle("brief", !whole.checked);
  whole.addEventListener("change", brief);
  brief();
  const form = document.querySelector("form.filter");
  form.hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  filter();
})();
