// The pictures of a result: before and after, bars, an estimate with its band, associations.
import { drawMatrix } from "./associations.js";
import { colour, draw, drawNumbers, layout, middleHalf, redrawAll } from "./charts.js";
import { percent } from "./numbers.js";
import { stopWhereItScrolls } from "./scroll_areas.js";
import { whenThemeChanges } from "./theme.js";

const pictures = document.getElementById("pictures");

function beside({ edges, before, after }) {
  const centres = before.map((_, i) => (edges[i] + edges[i + 1]) / 2);
  const hundred = (shares) => shares.map((share) => 100 * share);
  const told = { hovertemplate: "%{y:.2f} %" };
  return [[
    { type: "bar", x: centres, y: hundred(before), name: "as it came", marker: { color: colour("--chart-released") }, ...told },
    { type: "scatter", mode: "lines", x: centres, y: hundred(after), name: "now", line: { color: colour("--chart-estimate"), width: 2.5, shape: "hvh" }, ...told },
  ], layout()];
}

function told({ edges, before, after }) {
  return `As it came, half of the values lie ${middleHalf(edges, before)}. Now ${middleHalf(edges, after)}.`;
}

// Bars with a mark: what they are to be seen beside.
function list(place, items) {
  const rows = document.createElement("ul");
  rows.className = "bars marked";
  // A mark that is the same for all is said once, below the picture.
  const one = items.every(({ beside: other }) => other === items[0].beside);
  const most = Math.max(...items.map(({ value, beside: other }) => Math.max(value, other ?? 0)), 0.001);
  for (const { label, value, beside: other } of items) {
    const row = document.createElement("li");
    const name = document.createElement("span");
    name.textContent = label;
    const track = document.createElement("div");
    const bar = document.createElement("progress");
    Object.assign(bar, { max: most, value: Math.max(value, 0) });
    bar.setAttribute("aria-label", label || "empty");
    track.append(bar);
    if (other !== null) {
      const mark = document.createElement("i");
      mark.style.setProperty("--at", `${(100 * other) / most}%`);
      track.append(mark);
    }
    const figure = document.createElement("span");
    figure.className = "number";
    figure.textContent = other === null || one ? percent(value) : `${percent(value)} (${percent(other)})`;
    row.append(name, track, figure);
    rows.append(row);
  }
  place.replaceChildren(rows);
  place.setAttribute("role", "group");
  place.setAttribute("aria-label", place.closest("figure").querySelector("h3").textContent);
  stopWhereItScrolls(place);
}

function associations(place, { names, before, after }) {
  const which = document.getElementById("which");
  const change = after.map((row, i) => row.map((value, j) => (value === null || before[i][j] === null ? null : value - before[i][j])));
  which.addEventListener("change", drawMatrix(place, names, () => ({ change, before, after })[which.value]));
}

async function drawAll() {
  const drawnFrom = JSON.parse(document.getElementById("drawn-from").textContent);
  for (const figure of pictures.querySelectorAll("[data-picture]")) {
    const picture = drawnFrom[Number(figure.dataset.picture)];
    const place = figure.querySelector("[data-plot]");
    if (picture.form === "numbers") await draw(place, () => beside(picture), pictures.dataset.plotly, told(picture));
    else if (picture.form === "estimate") await drawNumbers(place, picture, pictures.dataset.plotly);
    else if (picture.form === "associations") associations(figure, picture);
    else if (picture.form === "bars") list(place, picture.items);
    else list(place, picture.names.map((label, i) => ({ label, value: picture.after[i], beside: picture.before[i] })));
  }
  pictures.dataset.drawn = "";
}

if (pictures) drawAll();
whenThemeChanges(redrawAll);
