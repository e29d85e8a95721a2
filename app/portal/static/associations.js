// Associations as a table whose cells are coloured by their strength.
import { stopWhereItScrolls } from "./scroll_areas.js";

export function drawAssociations(place, choice, { names, released, corrected }) {
  if (!corrected) choice.closest("label").hidden = true; // the owner withholds the noise law
  const show = drawMatrix(place, names, () => (choice.checked && corrected ? corrected : released));
  choice.addEventListener("change", show);
}

// `values` gives the matrix to show; what is returned shows it again.
export function drawMatrix(place, names, values) {
  if (names.length < 2) {
    const said = document.createElement("p");
    said.className = "muted pad";
    said.textContent = "There are no two columns to compare.";
    place.replaceChildren(said);
    return () => {};
  }
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  head.append(document.createElement("td"));
  for (const name of names) head.append(heading(name, "col"));
  const body = table.createTBody();
  const cells = names.map((name) => {
    const row = body.insertRow();
    row.append(heading(name, "row"));
    return names.map(() => row.insertCell());
  });
  const show = () => {
    const matrix = values();
    cells.forEach((row, i) => row.forEach((cell, j) => {
      const value = i === j ? null : matrix[i][j];
      cell.textContent = i === j ? "" : value === null ? "–" : value.toFixed(2).replace("-", "−");
      cell.style.setProperty("--heat", value < 0 ? "var(--bad)" : "var(--accent)");
      cell.style.setProperty("--strength", `${Math.round(40 * Math.abs(value ?? 0))}%`);
    }));
  };
  show();
  place.replaceChildren(table);
  stopWhereItScrolls(place);
  return show;
}

function heading(name, scope) {
  const cell = document.createElement("th");
  cell.scope = scope;
  cell.textContent = name;
  return cell;
}
