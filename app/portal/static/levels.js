// The slider: levels are tried one after another, and what they risk and keep moves as it moves.
// Between levels that were tried a straight line is drawn; where the slider rests, its level is tried.
import { ask } from "./http.js";
import { drawCurve, drawExamples } from "./preview.js";
import { recommend } from "./recommendations.js";
import { say } from "./announcements.js";
import { whenThemeChanges } from "./theme.js";

const chooser = document.getElementById("chooser");
const slider = document.getElementById("privacy");
const told = (name) => chooser.querySelector(`[data-told="${name}"]`);
const marks = [...chooser.querySelectorAll("[data-mark]")].map((one) => Number(one.dataset.mark) / 100);
const tried = new Map(); // privacy → what its preview said
const ROUNDS = [[0.05, 0.95], [0.2, 0.8], [0.35, 0.5, 0.65]]; // from both ends inwards
const NEAR = 0.015, REST_MS = 500;

function percent(share, digits = 3) {
  return `${(100 * share).toLocaleString("en", { maximumSignificantDigits: digits })} %`;
}

function known() {
  return [...tried.keys()].sort((a, b) => a - b);
}

function nearest(privacy) {
  return known().reduce((best, one) => (Math.abs(one - privacy) < Math.abs(best - privacy) ? one : best));
}

// A figure at the slider: as tried, or on the line between the two tried beside it.
function between(privacy, figure) {
  const points = known().map((one) => [one, figure(tried.get(one))]).filter(([, value]) => value !== null && value !== undefined);
  if (!points.length) return null;
  const above = points.find(([one]) => one >= privacy) ?? points.at(-1);
  const below = points.findLast(([one]) => one <= privacy) ?? points[0];
  if (above[0] === below[0]) return above[1];
  return below[1] + ((privacy - below[0]) / (above[0] - below[0])) * (above[1] - below[1]);
}

const worstMean = (level) => (level.utility.means.length ? Math.max(...level.utility.means.map((one) => one.within)) : null);
const model = (level) => level.utility.tree ?? level.utility.regression;

function show() {
  const privacy = Number(slider.value) / 100;
  document.getElementById("privacy-said").textContent = percent(privacy);
  slider.setAttribute("aria-valuetext", percent(privacy));
  told("promised").textContent = percent(privacy);
  if (!tried.size) return;
  const about = known().some((one) => Math.abs(one - privacy) < 1e-9) ? "" : "about ";
  const fill = (name, value, words) => { told(name).textContent = value === null ? "–" : about + words(value); };
  fill("risk", between(privacy, (level) => level.risk.recovered), percent);
  fill("quality", between(privacy, (level) => level.utility.quality), percent);
  fill("means", between(privacy, worstMean), percent);
  fill("correlations", between(privacy, (level) => level.utility.correlations?.largest), (value) => value.toFixed(3));
  const close = tried.get(nearest(privacy));
  if (model(close)) {
    told("model-name").textContent = `A model learns ${model(close).target}`;
    fill("model", between(privacy, (level) => model(level)?.trained_on_copy), (value) => `${value.toFixed(3)} of ${model(close).trained_on_original.toFixed(3)}`);
  }
  told("verdict").textContent = `At ${percent(close.privacy)}: ${close.risk.summary}`;
  told("advice").textContent = advice(close);
  drawCurve(chooser.querySelector("[data-curve]"), chooser.dataset.plotly, known().map((one) => tried.get(one)), privacy, marks);
  drawExamples(document.querySelector("[data-examples]"), chooser.dataset.plotly, close);
  document.querySelector("[data-beside]").textContent = `Some cells and distributions of your rows beside those of a copy at ${percent(close.privacy)}. Nobody but you sees your side.`;
}

function advice({ noise_variance: asked, advice: { applied_variance: applied, driven_by, weakly_protected: weak } }) {
  const words = [`Noise of ${applied.toPrecision(3)} times the data's variance is applied where ${asked.toPrecision(3)} is the level's own.`];
  if (driven_by.length) words.push(`Most of it for ${driven_by.map((one) => `${one.column} (${one.applied_variance_without.toPrecision(3)} without it)`).join(", ")}.`);
  if (weak.length) words.push(`Weakly protected: ${weak.map((one) => `${one.target} (${percent(one.left)} left)`).join(", ")}. ${weak[0].remedy}`);
  return words.join(" ");
}

let queue = Promise.resolve();
let open = 0, done = 0;

function attempt(privacies) {
  const wanted = privacies.filter((one) => !known().some((other) => Math.abs(other - one) < 1e-9));
  if (!wanted.length) return queue;
  open += wanted.length;
  queue = queue.then(async () => {
    const query = new URLSearchParams(wanted.map((one) => ["privacy", one.toFixed(4).replace(/0+$/, "")]));
    const { levels } = await (await ask(`${chooser.dataset.preview}?${query}`, { method: "POST" })).json();
    for (const level of levels) tried.set(level.privacy, level);
    done += wanted.length;
    recommend(chooser, known().map((one) => tried.get(one)), percent);
    progress();
    show();
  });
  progress();
  return queue;
}

function progress() {
  const box = chooser.querySelector("[data-trying]");
  box.classList.toggle("quieted", done >= open);
  box.querySelector("progress").value = done / open;
  box.querySelector("[data-words]").textContent = done < open ? `${done} of ${open} levels are tried.` : `${done} levels were tried.`;
  if (done >= open) say(`${done} levels were tried.`);
}

let resting;
slider.addEventListener("input", () => {
  show();
  clearTimeout(resting);
  resting = setTimeout(() => {
    const here = Number(slider.value) / 100;
    if (tried.size && Math.abs(nearest(here) - here) > NEAR) attempt([here]).catch(failed);
  }, REST_MS);
});
chooser.addEventListener("click", (event) => {
  const mark = event.target.closest("[data-mark]");
  if (!mark) return;
  slider.value = Math.round(Number(mark.dataset.mark));
  slider.dispatchEvent(new Event("input"));
  slider.focus();
});

function failed(problem) {
  const box = chooser.querySelector("[data-trying]");
  box.querySelector("progress").hidden = true;
  box.querySelector("[data-words]").textContent = `There is no preview: ${problem.message}`;
  say(`There is no preview: ${problem.message}`);
  chooser.dataset.drawn = "";
}

show();
const start = Number(slider.value) / 100;
const others = (privacies) => privacies.filter((one) => Math.abs(one - start) > NEAR);
attempt([start]);
for (const few of ROUNDS) attempt(others(few));
queue.then(() => { chooser.dataset.drawn = ""; }).catch(failed);
whenThemeChanges(show);
