// SPDX-License-Identifier: Apache-2.0
// Tables of the class "sorts": a click on a heading sorts by it, a second one the other way round.
// Cells with data-v sort by that number, others by their text.
"use strict";
document.querySelectorAll("table.sorts").forEach((table) => {
  table.querySelectorAll("th").forEach((th, column) => {
    th.tabIndex = 0;
    const sort = () => {
      const up = th.getAttribute("aria-sort") === "descending";
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (tr) => { const td = tr.cells[column]; return td.dataset.v !== undefined ? Number(td.dataset.v) : td.textContent; };
      const list = [...table.tBodies[0].rows].map((tr) => [key(tr), tr]);
      list.sort(([a], [b]) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))) * (up ? 1 : -1));
      table.tBodies[0].append(...list.map(([, tr]) => tr));
    };
    th.addEventListener("click", sort);
    th.addEventListener("keydown", (e) => { if (e.key === "Enter") sort(); });
  });
});
