// The demonstration: what pooling, links and drift leave to guess. Each scene ends in one sentence.
import { ask } from "./http.js";
import { colour, draw, layout, redrawAll } from "./charts.js";
import { percent } from "./numbers.js";
import { nameCells } from "./stacked_tables.js";
import { whenThemeChanges } from "./theme.js";

const pictures = document.getElementById("pictures");
const pooling = document.getElementById("pooling");
const plot = (name) => document.querySelector(`[data-${name}]`);
let found, under_way;

const last = (values) => values[values.length - 1];

function say(id, kind, title, words) {
  const place = document.getElementById(id);
  place.className = `notice ${kind}`;
  place.querySelector("[data-title]").textContent = title;
  place.querySelector("[data-words]").textContent = words;
}

const hundred = (shares) => shares.map((share) => 100 * share);

function line(x, shares, name, paint) {
  return {
    type: "scatter", mode: "lines+markers", x, y: hundred(shares), name, cliponaxis: false,
    line: { color: colour(paint), width: 3 }, marker: { size: 8 }, hovertemplate: "%{y:.3g} %",
  };
}

function promise(ends, share) {
  return {
    type: "scatter", mode: "lines", x: ends, y: [100 * share, 100 * share], name: "promised",
    line: { dash: "dot", color: colour("--muted"), width: 1.5 }, hoverinfo: "skip",
  };
}

function frame(x, y) {
  const made = layout();
  return {
    ...made, height: 296, margin: { l: 64, r: 16, t: 12, b: 52 },
    xaxis: { ...made.xaxis, ...x, title: { text: x.title, standoff: 4 } },
    yaxis: { ...made.yaxis, ...y, title: { text: y.title } },
  };
}

function left() {
  const copies = found.who.map((_, i) => i + 1);
  const ends = [0.5, copies.length + 0.5];
  return [[
    promise(ends, found.promised[0]),
    line(copies, found.independent.left, "independent", "--bad"),
    line(copies, found.together.left, "one plan", "--accent"),
  ], frame({ title: "copies pooled", tickvals: copies, range: ends }, { title: "left to guess", range: [0, 100] })];
}

function guesses() {
  const all = [...found.truth, ...found.independent.guesses, ...found.together.guesses];
  const room = 0.03 * (Math.max(...all) - Math.min(...all));
  const range = [Math.min(...all) - room, Math.max(...all) + room];
  const dots = (of, name, paint) => ({
    type: "scatter", mode: "markers", x: found.truth, y: of.guesses, name, hoverinfo: "skip", cliponaxis: false,
    marker: { size: 5, opacity: 0.5, color: colour(paint) },
  });
  return [[
    { type: "scatter", mode: "lines", x: range, y: range, line: { color: colour("--line-strong"), width: 1.5 }, hoverinfo: "skip" },
    dots(found.independent, "independent", "--bad"),
    dots(found.together, "one plan", "--accent"),
  ], {
    ...frame({ title: `true ${found.column}`, range }, { title: "guess", range, rangemode: "normal", ticksuffix: "" }), hovermode: false,
  }];
}

function tell() {
  const many = found.who.length;
  const [plan, apart, best] = [last(found.together.left), last(found.independent.left), found.alone[0]];
  if (many === 1) {
    say("verdict", "", "One copy, and nobody to pool with", `It leaves ${percent(plan)} of the variance to guess. Choose more recipients.`);
    return;
  }
  say("verdict", "good", "Pooling gains nothing",
    `${many} copies together leave ${percent(plan)} to guess, the best of them alone ${percent(best)}; independent noise would leave ${percent(apart)}.`);
}

function list() {
  const body = pictures.querySelector("[data-figures]");
  body.replaceChildren(...found.who.map((who, i) => {
    const row = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = i + 1;
    row.append(head);
    for (const [text, kind] of [[who, ""], [percent(found.alone[i]), "number"], [percent(found.together.left[i]), "number"], [percent(found.independent.left[i]), "number"]]) {
      const cell = row.insertCell();
      cell.textContent = text;
      cell.className = kind;
    }
    return row;
  }));
  nameCells();
}

async function pool() {
  const chosen = [...pooling.querySelectorAll("input:checked")].map((one) => one.value);
  under_way?.abort();
  if (chosen.length === 0) {
    say("verdict", "warn", "Nobody pools", "Choose one recipient at least.");
    return;
  }
  const mine = (under_way = new AbortController());
  delete pictures.dataset.drawn;
  // Who changes several boxes one after the other is asked about once.
  await new Promise((resolve) => setTimeout(resolve, 150));
  if (mine.signal.aborted) return;
  try {
    const address = `${pictures.dataset.pooled}?${new URLSearchParams(chosen.map((id) => ["recipient", id]))}`;
    found = await (await ask(address, { signal: mine.signal })).json();
    tell();
    list();
    pictures.querySelector("[data-column]").textContent = found.column;
    const address_of_plotly = pictures.dataset.plotly;
    await draw(plot("left"), left, address_of_plotly, "What is left to guess, by number of copies pooled, with one plan and with independent noise. The figures stand in a table below.");
    await draw(plot("guesses"), guesses, address_of_plotly, `The ${found.column} of 500 households beside what the attacker guesses. What that amounts to is said below.`);
    await scenes;
    pictures.dataset.drawn = "yes";
  } catch (problem) {
    if (!mine.signal.aborted) say("verdict", "bad", problem.title ?? "No answer", problem.message);
  }
}

async function showScenes() {
  try {
    const { links, drift } = await (await ask(pictures.dataset.scenes)).json();
    const bars = () => [[{
      type: "bar", x: ["No noise", ...links.who], y: hundred([1, ...links.found]), hovertemplate: "%{y:.3g} %",
      marker: { color: ["--bad", ...links.who.map(() => "--accent")].map(colour) },
    }], frame({ title: "" }, { title: "households found", range: [0, 100] })];
    say("links-verdict", "good", "Few are found",
      `At most ${percent(Math.max(...links.found))} of the households are found in any copy; without noise all of them would be.`);
    const lines = () => [[
      promise([drift.growth[0], last(drift.growth)], drift.promised),
      line(drift.growth, drift.first, "noise of the first rows", "--bad"),
      line(drift.growth, drift.measured, "measured on the new rows", "--accent"),
    ], frame({ title: "growth of incomes and rents", tickvals: drift.growth, ticksuffix: "×" }, { title: "left to guess", range: [0, 100] })];
    say("drift-verdict", "good", "Later rows keep the promise",
      `When incomes are ${last(drift.growth)} times as large, ${percent(last(drift.measured))} of their variance is left to guess; the noise of the first rows would leave ${percent(last(drift.first))}.`);
    await draw(plot("links"), bars, pictures.dataset.plotly, "Share of households that are found in each copy. What that amounts to is said below.");
    await draw(plot("drift"), lines, pictures.dataset.plotly, "Share of the variance of incomes that is left when they have grown. What that amounts to is said below.");
  } catch (problem) {
    for (const id of ["links-verdict", "drift-verdict"]) say(id, "bad", problem.title ?? "No answer", problem.message);
  }
}

const scenes = showScenes();
pooling.addEventListener("change", pool);
whenThemeChanges(redrawAll);
pool();
