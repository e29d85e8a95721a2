// A tool of the workbench: a file is looked at when it is chosen, so that its columns can be named, and
// sent with the choices when the form is.
import { count } from "./numbers.js";
import { ask, Problem, token } from "./http.js";
import { notice } from "./forms.js";
import { say } from "./announcements.js";
import { decides, readOtherwise, said as saidOf, whichSheet } from "./read_options.js";

const form = document.getElementById("work");
const sending = form.querySelector("[data-sending]");
const stop = form.querySelector("[data-stop]");
const begin = form.querySelector("button:not([type])");

const begun = begin.parentElement;
const given = form.querySelector("h2").nextElementSibling;
const asked = document.getElementById("asked");

// How each file is read, as far as its reader had to say it: by the name of its field, in the order of the files.
const readings = {};

function clear() {
  form.querySelector(":scope > .notice")?.remove();
  asked.replaceChildren();
}

// What is wrong with a file is said below the files, what is wrong with the choices above the button.
function complain(title, words, place = begun.previousElementSibling) {
  clear();
  const box = notice("bad", title, words);
  place.after(box);
  box.focus();
}

function offer(columns) {
  for (const list of form.querySelectorAll("[data-columns]")) {
    const some = columns.filter((one) => one.number || list.dataset.numbers === undefined);
    const choices = some.map(({ name }) => {
      const label = document.createElement("label");
      label.className = "choice";
      const box = document.createElement("input");
      Object.assign(box, { type: "checkbox", name: list.dataset.columns, value: name, checked: list.dataset.numbers !== undefined });
      const words = document.createElement("span");
      words.textContent = name;
      label.append(box, words);
      return label;
    });
    list.querySelector("[data-choices]").replaceChildren(...choices);
  }
  for (const select of form.querySelectorAll("[data-column-of]")) {
    const some = columns.filter((one) => one.number || select.dataset.numbers === undefined);
    const none = select.required ? [] : [new Option("none", "")];
    select.replaceChildren(...none, ...some.map(({ name }) => new Option(name, name)));
  }
}

// Which columns to swap: those whose values the others give away in the most rows.
function advise(givenAway) {
  const place = form.querySelector("[data-advice]");
  if (!place) return;
  const ranked = Object.entries(givenAway).sort((one, other) => other[1] - one[1]).filter(([, rows]) => rows > 0);
  const named = ranked.slice(0, 3).map(([name, rows]) => `${name} (${count(rows)} rows)`).join(", ");
  place.textContent = named
    ? `The other columns give away most of ${named}, numbers taken in ten bins. Choose those of them that nobody may learn.`
    : "The other columns give away no value of a text column.";
}

// What a file holds, and how it is read: the reader is asked until both are known.
async function lookAt(file, params = new URLSearchParams()) {
  const body = new FormData();
  body.append("table", file);
  try {
    return [await (await ask(`${form.dataset.look}${form.dataset.look.includes("?") ? "&" : "?"}${params}`, { method: "POST", body })).json(), params];
  } catch (failure) {
    const { problem } = failure;
    if (!problem?.sheets && !decides(problem)) throw failure;
    return lookAt(file, await decided(problem, file, params));
  }
}

function decided(problem, file, params) {
  clear();
  return new Promise((resolve) => {
    const answer = (more) => {
      asked.replaceChildren();
      resolve(more);
    };
    if (problem.sheets) {
      asked.append(whichSheet(problem.sheets, file.name, (sheet) => {
        const more = new URLSearchParams(params);
        more.set("sheet", sheet);
        answer(more);
      }, "h2"));
    } else {
      const words = notice("bad", `${file.name}: ${problem.title}`, problem.detail, "h2");
      asked.append(words, readOtherwise());
      const reading = asked.querySelector("form");
      for (const [name, value] of params) reading.elements[name].value = value;
      reading.addEventListener("submit", (event) => {
        event.preventDefault();
        answer(saidOf(reading));
      });
    }
    asked.firstElementChild.focus();
  });
}

async function look(input) {
  const words = document.getElementById(`${input.id}-said`);
  const files = [...input.files];
  if (files.length === 0) return;
  clear();
  words.textContent = `${files.map((file) => file.name).join(", ")} is being read.`;
  const mine = (input.looked = {});
  const told = [];
  const found = [];
  try {
    for (const file of files) {
      const [table, params] = await lookAt(file);
      if (input.looked !== mine) return; // another file was chosen meanwhile
      told.push(`${file.name}: ${count(table.rows)} rows, ${table.columns.length} columns.`);
      found.push({ ...Object.fromEntries(params), missing: params.getAll("missing") });
      if (!input.multiple) offer(table.columns);
      advise(table.given_away);
    }
    readings[input.name] = found;
    words.textContent = told.join(" ");
    // Who was asked how to read it stood on what is gone now.
    if (document.activeElement === document.body) input.focus();
  } catch (problem) {
    if (input.looked !== mine) return;
    words.textContent = "";
    input.value = "";
    complain(problem.title ?? "No answer", problem.message, given);
  }
}

function chosen() {
  const options = {};
  for (const [name, value] of new FormData(form)) {
    if (value instanceof File || value === "") continue;
    const many = form.querySelector(`[data-columns="${name}"]`);
    if (many) (options[name] ??= []).push(value);
    else options[name] = value;
  }
  return options;
}

function send() {
  const body = new FormData();
  for (const input of form.querySelectorAll("[data-file]")) for (const file of input.files) body.append(input.name, file);
  const query = new URLSearchParams({ options: JSON.stringify(chosen()), readings: JSON.stringify(readings) });
  // Not by fetch: only this tells how much was sent.
  const request = new XMLHttpRequest();
  const over = (act) => () => {
    sending.hidden = stop.hidden = true;
    begin.disabled = false;
    act();
  };
  request.upload.addEventListener("progress", (event) => { sending.value = event.loaded / Math.max(event.total, 1); });
  request.addEventListener("load", over(() => {
    const said = JSON.parse(request.responseText);
    if (request.status < 300) location.assign(said.work);
    else complain(said.title, new Problem(said).message);
  }));
  request.addEventListener("error", over(() => complain("No answer", "The service did not answer. Look at your connection, and try again.")));
  request.addEventListener("abort", over(() => complain("Stopped", "Nothing was begun.")));
  stop.onclick = () => request.abort();
  request.open("POST", `${form.action}?${query}`);
  request.setRequestHeader("Accept", "application/json");
  request.setRequestHeader("X-Form-Token", token());
  sending.hidden = stop.hidden = false;
  begin.disabled = true;
  stop.focus();
  say("Your file is being sent.");
  request.send(body);
}

for (const input of form.querySelectorAll("[data-file]")) {
  const place = input.closest("[data-drop]");
  input.addEventListener("change", () => look(input));
  queueMicrotask(() => look(input)); // a file may be chosen before this script has run
  for (const kind of ["dragover", "dragleave", "drop"]) {
    place.addEventListener(kind, (event) => {
      event.preventDefault();
      place.classList.toggle("over", kind === "dragover");
    });
  }
  place.addEventListener("drop", (event) => {
    if (event.dataTransfer.files.length === 0) return;
    input.files = event.dataTransfer.files;
    look(input);
  });
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clear();
  send();
});
