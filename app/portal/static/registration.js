// Registering a table: the file is sent once, looked at, corrected in a form, and kept.
import { ask } from "./http.js";
import { notice } from "./forms.js";
import { decides, readOtherwise, said as saidOfReading } from "./read_options.js";
import { Remedies, firstRows } from "./remedies.js";
import { Sender, takeFiles } from "./upload.js";

const upload = document.getElementById("upload");
const looked = document.getElementById("looked");
const sender = new Sender(upload);
const ALLOWED = { "duplicate-key": "allow_versions", "rows-overlap": "allow_overlap" };
const remedies = new Remedies(() => look());
let file;
// Under which name the file waits at the service; null while it does not.
let waits = null;

function field(row, name) {
  return row.querySelector(`[name="${name}-${row.dataset.place}"]`);
}

const formal = () => Boolean(document.getElementById("formal")?.checked);

// A declaration of a category or a public constant.
function declared(row, kind) {
  const categories = field(row, "values")?.value.split("\n").map((line) => line.trim()).filter(Boolean);
  if (!categories?.length || !["categorical", "passthrough"].includes(kind)) return {};
  const other = field(row, "other").value.trim();
  return { categories, ...(other ? { other } : {}) };
}

// What the owner changed, as the service takes it: column → params.
function overrides() {
  const said = {};
  for (const row of looked.querySelectorAll("[data-column]")) {
    const { column, kind: found, round, lower, upper } = row.dataset;
    const kind = field(row, "kind").value;
    const now = [kind, field(row, "round").checked ? "yes" : "", field(row, "lower").value.trim(), field(row, "upper").value.trim()];
    const same = now.join("\n") === [found, round, lower, upper].join("\n");
    if (same && !taken.has(column) && (!formal() || kind === "identifier")) continue;
    const number = (text) => (text === "" ? null : Number(text.replace(",", ".")));
    said[column] = kind === "numeric"
      ? { kind, round_to_integer: now[1] === "yes", lower: number(now[2]), upper: number(now[3]) }
      : { kind, ...declared(row, kind) };
    if (formal() && kind === "date") Object.assign(said[column], { lower: number(now[2]), upper: number(now[3]) });
  }
  return said;
}

// Corrections that a look has taken in count as found by the next one, so they are kept here.
let taken = new Map();

function query(extra = {}) {
  const params = new URLSearchParams(extra);
  for (const [name, value] of saidOfReading(document.getElementById("reading"))) params.append(name, value);
  const said = remedies.addTo(params, looked.querySelector("[data-column]") ? overrides() : {});
  if (Object.keys(said).length) params.set("columns", JSON.stringify(said));
  if (formal()) params.set("protection", "formal");
  return [params, said];
}

async function send() {
  const answer = await sender.send(upload.dataset.keep, file);
  waits = answer && JSON.parse(answer.responseText).file;
  return waits;
}

function forget() {
  if (!waits) return;
  ask(`${upload.dataset.keep}?file=${waits}`, { method: "DELETE", keepalive: true }).catch(() => {});
  waits = null;
}

// Ask about the file that waits; one that is gone by now, after a day say, is sent once more.
async function about(address, params, doing) {
  for (let again = false; ; again = true) {
    if (!waits && !(await send())) return null;
    params.set("file", waits);
    const answer = await sender.ask(`${address}?${params}`, file.name, doing);
    if (sender.refused === null) forget(); // it was cancelled
    if (answer || again || sender.refused?.type?.split("/").pop() !== "not-found") return answer;
    waits = null;
  }
}

async function look(fresh = false) {
  const name = (!fresh && document.getElementById("name")?.value) || file.name.replace(/(\.[a-z0-9]{1,8}){1,2}$/i, "");
  const key = fresh ? "" : document.getElementById("key_column")?.value;
  if (fresh) {
    looked.replaceChildren();
    taken = new Map();
    remedies.forget();
  }
  const [params, said] = query(key ? { key_column: key } : {});
  const answer = await about(upload.dataset.look, params, "It is being read.");
  if (!answer) {
    await offerRemedies();
    // What the reader can decide is asked for, where no look has brought the form yet.
    if (decides(sender.refused) && !document.getElementById("reading")) looked.append(readOtherwise());
    return;
  }
  taken = new Map(Object.entries(said));
  step(2);
  // The service has escaped every text in it, and the page's policy runs nothing that is inside.
  const page = new DOMParser().parseFromString(answer.responseText, "text/html");
  looked.replaceChildren(...page.body.childNodes);
  remedies.leaveTo(document.getElementById("reading"));
  document.getElementById("name").value = name.slice(0, 200);
  document.getElementById("read-head").focus();
}

async function offerRemedies() {
  const box = remedies.box(sender.refused);
  if (!box) return;
  sender.problem.append(box);
  const rows = await firstRows(file, sender.refused.problems);
  if (rows && sender.problem.contains(box)) box.prepend(rows);
}

function step(number) {
  document.querySelectorAll("[data-step]").forEach((one) => one.toggleAttribute("data-done", Number(one.dataset.step) < number));
  document.querySelectorAll("[data-step]").forEach((one) => (Number(one.dataset.step) === number ? one.setAttribute("aria-current", "step") : one.removeAttribute("aria-current")));
}

// A problem of what is kept stands where it is kept, and nothing that was typed goes.
function sayAtForm(form) {
  const box = sender.problem.firstElementChild;
  if (!box) return;
  form.querySelector("[data-refused]").replaceChildren(box);
  const name = form.elements.name;
  name.toggleAttribute("aria-invalid", sender.refused?.parameter === "name");
  if (sender.refused?.parameter === "name") name.select();
  else box.focus();
}

async function register(allowed = {}) {
  const form = document.getElementById("register");
  const key = form.elements.key_column.value;
  const extra = { name: form.elements.name.value, ...(key ? { key_column: key } : {}), ...allowed };
  const [params] = query(extra);
  const answer = await about(upload.dataset.register, params, "It is being kept.");
  if (!answer) {
    offerAnyway(allowed);
    sayAtForm(form);
    return;
  }
  waits = null;
  const { address, notices } = JSON.parse(answer.responseText);
  if (!notices.length) {
    location.assign(address);
    return;
  }
  const box = notice("warn", "It is registered. You should know this", notices.join(" "));
  const link = document.createElement("a");
  link.className = "button";
  link.href = address;
  link.textContent = "To the data set";
  box.append(link);
  looked.replaceChildren(box);
  box.focus();
}

// Where the owner may accept what was refused, a button beside the words does it.
function offerAnyway(allowed) {
  const means = ALLOWED[sender.refused?.type?.split("/").pop()];
  const box = sender.problem.firstElementChild;
  if (!means || !box) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet small";
  button.textContent = "Register it all the same";
  button.addEventListener("click", () => register({ ...allowed, [means]: "true" }));
  box.append(button);
}

function take(row, said) {
  if (said.kind) field(row, "kind").value = said.kind;
  if (said.round_to_integer) field(row, "round").checked = true;
  if (said.lower !== undefined) field(row, "lower").value = said.lower;
  if (said.upper !== undefined) field(row, "upper").value = said.upper;
  if (said.categories) field(row, "values").value = said.categories.join("\n");
  if (said.other) field(row, "other").value = said.other;
  row.querySelector("details").open = true;
}

looked.addEventListener("click", (event) => {
  const button = event.target.closest("button[type=button]");
  if (!button) return;
  if (button.dataset.take !== undefined) {
    take(button.closest("[data-column]"), JSON.parse(button.dataset.take));
    button.textContent = "Taken";
    button.disabled = true;
    field(button.closest("[data-column]"), "kind").focus(); // a button that is off holds no keyboard
  } else if (button.dataset.missing !== undefined) {
    const marks = document.getElementById("missing");
    marks.value = `${marks.value} ${button.dataset.missing}`.trim();
    look();
  } else if (button.dataset.again !== undefined) look();
});
looked.addEventListener("change", (event) => {
  if (event.target.id === "formal") look();
});
looked.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.target.id === "register") register();
  else look();
});
takeFiles(upload.querySelector("[data-drop]"), (chosen) => {
  forget();
  file = chosen;
  look(true);
});
addEventListener("pagehide", forget);
