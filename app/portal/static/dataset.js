// The page of a data set: pictures when they come into view, downloads with progress.
import { ask } from "./http.js";
import { drawAssociations } from "./associations.js";
import { drawCategories, drawNumbers, redrawAll } from "./charts.js";
import { offerDownloads } from "./downloads.js";
import { count, percent } from "./numbers.js";
import { whenThemeChanges } from "./theme.js";

const pictures = document.getElementById("pictures");

async function draw() {
  let summary;
  try {
    summary = await (await ask(pictures.dataset.summary)).json();
  } catch (problem) {
    pictures.querySelector("[data-said]").textContent = `There are no pictures: ${problem.message}`;
    return;
  }
  const { rows, sampled_rows: sampled, band } = summary;
  const of = sampled < rows ? `from ${count(sampled)} of ${count(rows)} rows` : `from all ${count(rows)} rows`;
  pictures.querySelector("[data-said]").textContent =
    `What each column looks like in your copy, and an estimate of what it looked like before the noise, ${of}. The band holds ${percent(band)} of the estimates from rows drawn anew.`;
  drawAssociations(document.querySelector("[data-associations]"), document.getElementById("corrected"), summary.associations);
  const figures = new Map([...pictures.querySelectorAll("[data-column]")].map((one) => [one.dataset.column, one]));
  for (const column of summary.columns) {
    const figure = figures.get(column.name);
    const words = figure.querySelector("[data-words]");
    const estimated = words.textContent;
    const missing = column.missing > 0 ? `${percent(column.missing)} missing. ` : "";
    if (column.form === "categories") {
      drawCategories(figure.querySelector("[data-plot]"), column);
      words.textContent = `${missing}Kept or replaced with its record: as released, so it was.`;
    } else {
      words.textContent = missing + (column.estimated ? estimated : "No noise of its own: as released, so it was.");
      await drawNumbers(figure.querySelector("[data-plot]"), column, pictures.dataset.plotly);
    }
  }
  pictures.dataset.drawn = "";
}

new IntersectionObserver((seen, observer) => {
  if (!seen.some((one) => one.isIntersecting)) return;
  observer.disconnect();
  draw();
}, { rootMargin: "600px" }).observe(pictures);
whenThemeChanges(redrawAll);
offerDownloads();
