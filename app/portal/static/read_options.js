// How a file is to be read, where that cannot be found out: which problems the reader can decide, the form
// that asks, and which sheet of a workbook is meant.
import { notice } from "./forms.js";

const ONE = ["delimiter", "decimal", "header", "header_row", "dates", "encoding", "sheet"];
const SEVERAL = ["missing", "skip_rows"];

// Whether some problem is settled by a field of the form.
export function decides(problem) {
  const told = [problem ?? {}, ...(problem?.problems ?? [])];
  const remedies = told.flatMap((one) => [one.parameters ?? {}, ...(one.choices ?? [])]).flatMap(Object.keys);
  return [problem?.parameter, ...remedies].some((name) => [...ONE, ...SEVERAL].includes(name));
}

// What a form says, as parameters; of no form, nothing.
export function said(form) {
  const params = new URLSearchParams();
  for (const name of ONE) if (form?.elements[name].value.trim()) params.set(name, form.elements[name].value.trim());
  for (const name of SEVERAL) for (const one of form?.elements[name].value.split(/\s+/) ?? []) if (one) params.append(name, one);
  return params;
}

export function readOtherwise() {
  return document.getElementById("read-otherwise").content.cloneNode(true);
}

// A box with a button for each sheet; `choose` is told which was pressed.
export function whichSheet(sheets, fileName, choose, heading) {
  const box = notice("", "Which sheet is it?", `${fileName} has ${sheets.length} sheets.`, heading);
  const choices = document.createElement("p");
  choices.className = "row";
  for (const name of sheets) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet small";
    button.textContent = name;
    button.addEventListener("click", () => choose(name));
    choices.append(button);
  }
  box.append(choices);
  return box;
}
