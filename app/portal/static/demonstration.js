// The demonstration: who pools, how the noise was drawn, and what is left to guess.
import { ask } from "./http.js";
import { colour, draw, layout, redrawAll } from "./charts.js";
import { percent } from "./numbers.js";
import { nameCells } from "./stacked_tables.js";
import { whenThemeChanges } from "./theme.js";

const pictures = document.getElementById("pictures");
const verdict = document.getElementById("verdict");
const pooling = document.getElementById("pooling");
let found, under_way;

const scheme = () => document.querySelector('input[name="scheme"]:checked').value;
const last = (values) => values[values.length - 1];

function say(kind, title, words) {
  verdict.className = `notice ${kind}`;
  verdict.querySelector("[data-title]").textContent = title;
  verdict.querySelector("[data-words]").textContent = words;
}

function left() {
  const chosen = scheme();
  const copies = found.who.map((_, i) => i + 1);
  const line = (of, name, paint, strong) => ({
    type: "scatter", mode: "lines+markers", x: copies, y: of.map((share) => 100 * share), name, opacity: strong ? 1 : 0.3,
    line: { color: paint, width: strong ? 3 : 2 }, marker: { size: strong ? 9 : 6 }, hovertemplate: "%{y:.1f} %",
  });
  const traces = [
    { type: "scatter", mode: "lines", x: [0.5, copies.length + 0.5], y: [100 * found.promised[0], 100 * found.promised[0]], name: "promised", line: { dash: "dot", color: colour("--muted"), width: 1.5 }, hoverinfo: "skip" },
    line(found.together.left, "one plan", colour("--accent"), chosen === "together"),
  ];
  if (chosen === "independent") traces.push(line(found.independent.left, "independent", colour("--bad"), true));
  const made = layout();
  return [traces, {
    ...made, height: 296,
    xaxis: { ...made.xaxis, title: { text: "copies pooled", standoff: 4 }, tickvals: copies, range: [0.5, copies.length + 0.5] },
    yaxis: { ...made.yaxis, range: [0, 100], title: { text: "left to guess" } }, margin: { l: 64, r: 12, t: 8, b: 52 },
  }];
}

function guesses() {
  const chosen = scheme();
  const ends = [Math.min(...found.truth), Math.max(...found.truth)];
  const made = layout();
  return [[
    { type: "scatter", mode: "lines", x: ends, y: ends, line: { color: colour("--line-strong"), width: 1.5 }, hoverinfo: "skip" },
    { type: "scatter", mode: "markers", x: found.truth, y: found[chosen].guesses, marker: { size: 5, opacity: 0.55, color: colour(chosen === "together" ? "--accent" : "--bad") }, hoverinfo: "skip" },
  ], {
    ...made, height: 296, hovermode: false, margin: { l: 64, r: 12, t: 8, b: 52 },
    xaxis: { ...made.xaxis, range: ends, title: { text: `true ${found.column}`, standoff: 4 } },
    yaxis: { ...made.yaxis, rangemode: "normal", ticksuffix: "", range: ends, title: { text: "guess" } },
  }];
}

function tell() {
  const many = found.who.length;
  const [plan, apart, best] = [last(found.together.left), last(found.independent.left), found.alone[0]];
  const words = many === 1 ? "One copy" : `${many} copies together`;
  if (scheme() === "together") {
    say("good", many === 1 ? "One copy, and nobody to pool with" : "Pooling gains nothing",
      `${words} leave ${percent(plan)} of the variance to guess; the best of them alone leaves ${percent(best)}.${many === 1 ? " Choose more recipients." : " Now switch to noise that is drawn for each copy anew."}`);
  } else {
    say(many === 1 ? "" : "bad", many === 1 ? "One copy, and nobody to pool with" : "Pooling wins",
      many === 1 ? `It leaves ${percent(apart)}. Choose more recipients.` : `Independent noise averages out: ${many} copies leave ${percent(apart)} of the variance, where one plan leaves ${percent(plan)}.`);
  }
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

async function show() {
  tell();
  list();
  pictures.querySelector("[data-column]").textContent = found.column;
  await draw(pictures.querySelector("[data-left]"), left, pictures.dataset.plotly, "What is left to guess, by number of copies pooled. The figures stand in a table below.");
  await draw(pictures.querySelector("[data-guesses]"), guesses, pictures.dataset.plotly, `The ${found.column} of 500 households beside what the attacker guesses. What that amounts to is said above.`);
  pictures.dataset.drawn = scheme();
}

async function pool() {
  const chosen = [...pooling.querySelectorAll("input:checked")].map((one) => one.value);
  under_way?.abort();
  if (chosen.length === 0) {
    say("warn", "Nobody pools", "Choose one recipient at least.");
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
    await show();
  } catch (problem) {
    if (!mine.signal.aborted) say("bad", problem.title ?? "No answer", problem.message);
  }
}

pooling.addEventListener("change", pool);
document.querySelectorAll('input[name="scheme"]').forEach((one) => one.addEventListener("change", () => found && show()));
whenThemeChanges(redrawAll);
pool();
