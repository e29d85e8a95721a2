// What a preview shows: risk and utility by privacy, and columns before and after.
import { percent } from "./numbers.js";
import { PLAIN, colour, describe, layout, middleHalf, plotly } from "./charts.js";
import { stopWhereItScrolls } from "./scroll_areas.js";

export async function drawCurve(place, address, levels, here, marks) {
  const Plotly = await plotly(address);
  const line = (name, figure, paint, dash) => ({
    type: "scatter", mode: levels.length > 1 ? "lines+markers" : "markers", name, hovertemplate: "%{y:.1f} %",
    x: levels.map((level) => 100 * level.privacy), y: levels.map((level) => 100 * figure(level)),
    line: { color: colour(paint), width: 2.5, dash }, marker: { color: colour(paint), size: 6 },
  });
  const upright = (at, paint, width, dash) => ({
    type: "line", xref: "x", yref: "paper", x0: 100 * at, x1: 100 * at, y0: 0, y1: 1, line: { color: colour(paint), width, dash },
  });
  const frame = layout();
  const traces = [
    { type: "scatter", mode: "lines", x: [0, 100], y: [100, 0], hoverinfo: "skip", line: { color: colour("--line-strong"), width: 1.5, dash: "dot" } },
    line("recovered", (level) => level.risk.recovered, "--bad"),
  ];
  if (levels.every((level) => level.utility.quality !== null)) traces.push(line("quality", (level) => level.utility.quality, "--chart-estimate"));
  await Plotly.react(place, traces, {
    ...frame, height: 300, margin: { l: 48, r: 12, t: 12, b: 44 },
    xaxis: { ...frame.xaxis, range: [0, 100], tickvals: [20, 40, 60, 80, 100], ticksuffix: " %", title: { text: "privacy", standoff: 8 } },
    yaxis: { ...frame.yaxis, range: [0, 104] },
    shapes: [...marks.map((at) => upright(at, "--warn", 1.5, "dash")), upright(here, "--ink", 2)],
  }, PLAIN);
}

export function drawExamples(place, address, level) {
  if (place.dataset.shown === String(level.privacy) && place.dataset.theme === colour("--ink")) return;
  place.dataset.shown = level.privacy;
  place.dataset.theme = colour("--ink");
  const fresh = place.querySelectorAll("figure").length !== level.examples.length;
  if (fresh) place.replaceChildren(...level.examples.map(frame));
  level.examples.forEach((example, i) => {
    const figure = place.children[i];
    figure.querySelector("h3").textContent = example.column;
    fillCells(figure.querySelector("tbody"), example);
    const plot = figure.querySelector(".plot");
    if (example.bins.length > example.shares_before.length) drawNumbers(plot, address, example);
    else drawShares(plot, example);
  });
}

function frame() {
  const figure = element("figure", "card chart example");
  const table = element("table", "cells");
  const head = table.createTHead().insertRow();
  for (const words of ["yours", "in the copy"]) {
    const cell = element("th");
    cell.scope = "col";
    cell.textContent = words;
    head.append(cell);
  }
  table.append(element("tbody"));
  const caption = element("figcaption");
  caption.append(element("h3"));
  figure.append(caption, element("div", "plot"), table);
  return figure;
}

function fillCells(body, { before, after }) {
  body.replaceChildren();
  before.forEach((cell, i) => {
    const row = body.insertRow();
    for (const text of [cell, after[i]]) row.insertCell().textContent = text ?? "–";
  });
}

async function drawNumbers(place, address, { bins, shares_before, shares_after }) {
  const Plotly = await plotly(address);
  const dates = /^\d{4}-\d\d-\d\d$/.test(bins[0]);
  const at = dates ? (text) => Date.parse(text) : Number;
  const middle = shares_before.map((_, i) => (at(bins[i]) + at(bins[i + 1])) / 2);
  const x = dates ? middle.map((one) => new Date(one).toISOString().slice(0, 10)) : middle;
  const hundred = (shares) => shares.map((share) => 100 * share);
  const half = (shares) => middleHalf(bins.map(at), shares, dates ? (one) => new Date(one).toISOString().slice(0, 10) : undefined);
  describe(place, `Of yours, half of the values lie ${half(shares_before)}. In the copy ${half(shares_after)}.`);
  await Plotly.react(place, [
    { type: "bar", x, y: hundred(shares_after), name: "in the copy", marker: { color: colour("--chart-released") }, hovertemplate: "%{y:.1f} %" },
    { type: "scatter", mode: "lines", x, y: hundred(shares_before), name: "yours", line: { color: colour("--chart-estimate"), width: 2.5, shape: "hvh" }, hovertemplate: "%{y:.1f} %" },
  ], { ...layout(), height: 210 }, PLAIN);
}

function drawShares(place, { bins, shares_before, shares_after }) {
  const list = element("ul", "bars pairs");
  list.setAttribute("aria-label", "Shares of the categories");
  const most = Math.max(...shares_before, ...shares_after, 0.001);
  bins.forEach((name, i) => {
    const item = element("li");
    const label = element("span");
    label.textContent = name || "missing";
    const both = element("div");
    for (const [share, whose] of [[shares_before[i], "yours"], [shares_after[i], "copy"]]) {
      const bar = element("progress", whose);
      bar.max = most;
      bar.value = share;
      bar.setAttribute("aria-label", `${name || "missing"}, ${whose === "yours" ? "yours" : "in the copy"}`);
      both.append(bar);
    }
    const figure = element("span", "number");
    figure.textContent = `${percent(shares_before[i])} → ${percent(shares_after[i])}`;
    item.append(label, both, figure);
    list.append(item);
  });
  // A place is used again when the slider moves, for another column perhaps.
  place.removeAttribute("role");
  place.removeAttribute("aria-label");
  place.replaceChildren(list);
  stopWhereItScrolls(list);
}

function element(name, classes = "") {
  const made = document.createElement(name);
  if (classes) made.className = classes;
  return made;
}
