// Tables that stand as cards on a narrow screen: each cell then says which column it is of. What is no table
// any more to the eye stays one to a screen reader, by its roles. What a cell holds becomes one piece, so
// that it and its name stand beside each other however many lines either has.
const ROLES = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell" };

function hold(cell) {
  const held = document.createElement("div");
  held.className = "held";
  held.append(...cell.childNodes);
  cell.append(held);
}

export function nameCells() {
  for (const table of document.querySelectorAll(".stacks > table")) {
    const heads = [...table.tHead.rows[0].cells].map((one) => (one.querySelector(".visually-hidden") ? "" : one.textContent.trim()));
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((cell, place) => {
        cell.dataset.label = heads[place] ?? "";
        if (cell.tagName === "TD" && (cell.textContent.trim() || cell.childElementCount) && !cell.querySelector(":scope > .held")) hold(cell);
      });
    }
    for (const part of [table, ...table.querySelectorAll("thead, tbody, tr, td")]) part.setAttribute("role", ROLES[part.tagName]);
    for (const head of table.querySelectorAll("th")) head.setAttribute("role", head.scope === "row" ? "rowheader" : "columnheader");
  }
}
