// The picture of an audit: what pooling leaves, by number of copies.
import { PLAIN, colour, layout, plotly } from "./charts.js";
import { whenThemeChanges } from "./theme.js";

const place = document.getElementById("pictures");

async function draw() {
  const Plotly = await plotly(place.dataset.plotly);
  const points = JSON.parse(place.dataset.points);
  const line = (name, key, paint, dash) => ({
    type: "scatter", mode: "lines+markers", name, hovertemplate: "%{y:.1f} %",
    x: points.map((point) => point.copies), y: points.map((point) => 100 * point[key]),
    line: { color: colour(paint), width: 2.5, dash }, marker: { color: colour(paint), size: 7 },
  });
  const frame = layout();
  await Plotly.react(place.querySelector("[data-pooled]"), [
    line("best copy alone", "best_alone", "--line-strong", "dot"),
    line("independent", "independent", "--bad"),
    line("corner-wave", "joint", "--chart-estimate"),
  ], {
    ...frame, height: 300, margin: { l: 48, r: 16, t: 12, b: 44 },
    xaxis: { ...frame.xaxis, dtick: Math.max(1, Math.ceil(points.length / 10)), title: { text: "copies held together", standoff: 8 } },
  }, PLAIN);
  place.dataset.drawn = "";
}

if (place) {
  draw();
  whenThemeChanges(draw);
}
