// Charts by plotly.js, which is loaded when the first of them is drawn; distributions of numbers among them.
// Categories are bars of our own. Colours are those of the stylesheet. What a picture shows is also said
// in words, for those who do not see it.
import { figure, percent } from "./numbers.js";
import { stopWhereItScrolls } from "./scroll_areas.js";

const drawn = new Map();
let loading;
export const PLAIN = { displayModeBar: false, responsive: true };

export function plotly(address) {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = () => resolve(globalThis.Plotly);
    script.onerror = reject;
    document.head.append(script);
  });
  return loading;
}

export function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

function asDate(days) {
  return new Date(days * 86400000).toISOString().slice(0, 10);
}

function traces({ form, edges, released, estimated, low, high }) {
  const at = form === "dates" ? asDate : (x) => x;
  const centres = released.map((_, i) => at((edges[i] + edges[i + 1]) / 2));
  const hundred = (shares) => shares.map((share) => 100 * share);
  const bars = {
    type: "bar", x: centres, y: hundred(released), name: "released", hovertemplate: "%{y:.2f} %",
    marker: { color: colour("--chart-released") },
  };
  if (!estimated) return [bars];
  const line = { type: "scatter", mode: "lines", x: centres };
  const edge = { ...line, line: { width: 0 }, hoverinfo: "skip" };
  const fill = colour("--chart-band");
  return [
    bars,
    { ...edge, y: hundred(low) },
    { ...edge, y: hundred(high), fill: "tonexty", fillcolor: fill },
    { ...line, y: hundred(estimated), name: "estimated", line: { color: colour("--chart-estimate"), width: 2.5 }, hovertemplate: "%{y:.2f} %" },
  ];
}

export function layout() {
  const axis = { gridcolor: colour("--chart-grid"), zeroline: false, color: colour("--muted"), fixedrange: true };
  return {
    height: 240, margin: { l: 40, r: 8, t: 8, b: 32 }, bargap: 0.06, showlegend: false, hovermode: "x unified",
    paper_bgcolor: "transparent", plot_bgcolor: "transparent",
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("--ink") },
    hoverlabel: { bgcolor: colour("--surface"), bordercolor: colour("--line-strong"), font: { color: colour("--ink") } },
    xaxis: { ...axis, showgrid: false }, yaxis: { ...axis, ticksuffix: " %", rangemode: "tozero", nticks: 5 },
  };
}

// Where the middle half of a histogram lies; `say` writes a place on its axis.
export function middleHalf(edges, shares, say = (x) => figure(x)) {
  const total = shares.reduce((sum, share) => sum + share, 0);
  if (!(total > 0)) return "nowhere";
  const at = (wanted) => {
    let below = 0;
    const bin = shares.findIndex((share) => (below += share) >= wanted * total);
    const into = (wanted * total - (below - shares[bin])) / (shares[bin] || 1);
    return say(edges[bin] + into * (edges[bin + 1] - edges[bin]));
  };
  return `between ${at(0.25)} and ${at(0.75)}, the middle at ${at(0.5)}`;
}

// To a screen reader a drawing is one picture, with these words in its place.
export function describe(place, words) {
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", words);
}

// `figure` gives traces and layout, and is asked again when the colours change.
export async function draw(place, figure, address, words) {
  const Plotly = await plotly(address);
  drawn.set(place, figure);
  describe(place, words);
  await Plotly.react(place, ...figure(), PLAIN);
}

export async function drawNumbers(place, column, address) {
  const say = column.form === "dates" ? asDate : undefined;
  const half = (shares) => `half of the values lie ${middleHalf(column.edges, shares, say)}`;
  const estimated = column.estimated ? ` Estimated, before the noise: ${half(column.estimated)}.` : "";
  await draw(place, () => [traces(column), layout()], address, `As released, ${half(column.released)}.${estimated}`);
}

export function redrawAll() {
  for (const [place, figure] of drawn) globalThis.Plotly?.react(place, ...figure(), PLAIN);
}

export function drawCategories(place, { names, shares, low, high, others }) {
  const list = document.createElement("ul");
  list.className = "bars";
  list.setAttribute("aria-label", "Shares of the categories");
  const most = Math.max(...shares, others, 0.001);
  const row = (name, share, chance) => {
    const item = document.createElement("li");
    const label = document.createElement("span");
    label.textContent = name;
    const bar = document.createElement("progress");
    bar.max = most;
    bar.value = share;
    bar.setAttribute("aria-label", name || "empty");
    const said = document.createElement("span");
    said.className = "number";
    said.textContent = `${percent(share)}${chance}`;
    item.append(label, bar, said);
    list.append(item);
  };
  names.forEach((name, i) => row(name, shares[i], ` ± ${percent((high[i] - low[i]) / 2, 2)}`));
  if (others > 0) row("all others", others, "");
  place.replaceChildren(list);
  stopWhereItScrolls(list);
}
