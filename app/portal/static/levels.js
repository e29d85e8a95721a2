// The slider: levels are tried one after another, and what they risk and keep moves as it moves.
// Between levels that were tried a straight line is drawn; where the slider rests, its level is tried. What
// was tried stays as it is: a level has one verdict.
import { ask } from "./http.js";
import { figure as number, percent } from "./numbers.js";
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
const SAME = 1e-9, REST_MS = 500, NORMAL_95 = 1.96;
const unitColumn = chooser.querySelector("[data-unit-column]"), unitWidth = chooser.querySelector("[data-unit-width]");
const STANDINGS = { ok: ["good", "ok"], attention: ["warn", "look here"], broken: ["bad", "do this"] };

function known() {
  return [...tried.keys()].sort((a, b) => a - b);
}

// Half the width of the interval that has 95 of 100 values, of the chosen column.
const noiseOf = (level) => level.advice.noise.find((one) => one.column === unitColumn.value);
const width = (level) => { const noise = noiseOf(level); return noise && NORMAL_95 * noise.standard_deviation; };
const insider = (level) => { const noise = noiseOf(level); return noise && NORMAL_95 * noise.known_others; };

// The privacy at which the chosen column has this width: widths grow with it, so halving finds it.
function privacyOf(wanted) {
  let low = 0.01, high = 0.99;
  for (let i = 0; i < 30; i++) {
    const middle = (low + high) / 2;
    if (between(middle, width) < wanted) low = middle; else high = middle;
  }
  return Math.round(100 * high) / 100;
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
  const about = known().some((one) => Math.abs(one - privacy) < SAME) ? "" : "about ";
  const fill = (name, value, words) => { told(name).textContent = value === null ? "–" : about + words(value); };
  fill("risk", between(privacy, (level) => level.risk.recovered), percent);
  fill("quality", between(privacy, (level) => level.utility.quality), percent);
  fill("means", between(privacy, worstMean), percent);
  fill("correlations", between(privacy, (level) => level.utility.correlations?.largest), (value) => number(value));
  const close = tried.get(nearest(privacy));
  if (model(close)) {
    told("model-name").textContent = `A model of ${model(close).target}`;
    fill("model", between(privacy, (level) => model(level)?.trained_on_copy), (value) => `${percent(Math.max(0, value / model(close).trained_on_original), 2)} as good`);
  }
  chooser.querySelector("[data-model]").hidden = !model(close);
  const half = between(privacy, width);
  if (half !== null) {
    fill("units", half, (value) => `± ${number(value)}`);
    fill("insider", between(privacy, insider), (value) => `± ${number(value)}`);
    const typical = close.utility.means.find((one) => one.column === unitColumn.value)?.mean;
    told("headline").textContent = typical === undefined
      ? `${unitColumn.value}: a value could be anywhere within ± ${number(half)} (95 %).`
      : `${unitColumn.value}: a value of ${number(typical)} could be anywhere within ± ${number(half)} (95 %).`;
    if (document.activeElement !== unitWidth) unitWidth.value = Number(half.toPrecision(3));
  }
  const tried_here = Math.abs(close.privacy - privacy) < SAME;
  const [colour, standing] = tried_here ? STANDINGS[close.risk.verdict] : ["", "not tried yet"];
  told("standing").className = `badge ${colour}`;
  told("standing").textContent = standing;
  told("verdict").textContent = tried_here ? close.risk.summary : `Rest the slider at ${percent(privacy)} to try it.`;
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
  const wanted = privacies.filter((one) => !known().some((other) => Math.abs(other - one) < SAME));
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
    if (tried.size) attempt([here]).catch(failed);
  }, REST_MS);
});
chooser.addEventListener("click", (event) => {
  const mark = event.target.closest("[data-mark]");
  if (!mark) return;
  slider.value = Math.round(Number(mark.dataset.mark));
  slider.dispatchEvent(new Event("input"));
  slider.focus();
});
unitColumn.addEventListener("change", show);
unitWidth.addEventListener("change", () => {
  if (!tried.size || !(Number(unitWidth.value) > 0)) return;
  slider.value = Math.round(100 * privacyOf(Number(unitWidth.value)));
  slider.dispatchEvent(new Event("input"));
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
const others = (privacies) => privacies.filter((one) => Math.abs(one - start) > SAME);
attempt([start]);
for (const few of ROUNDS) attempt(others(few));
queue.then(() => { chooser.dataset.drawn = ""; }).catch(failed);
whenThemeChanges(show);
