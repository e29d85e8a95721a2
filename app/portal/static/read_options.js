// How a file is to be read, where that cannot be found out: which problems the reader can decide, the form
// that asks, and which sheet of a workbook is meant.
import { notice } from "./forms.js";

const ONE = ["delimiter", "decimal", "header", "dates", "encoding", "sheet"];

export function decides(problem) {
  return [...ONE, "missing"].includes(problem?.parameter);
}

// What a form says, as parameters; of no form, nothing.
export function said(form) {
  const params = new URLSearchParams();
  for (const name of ONE) if (form?.elements[name].value.trim()) params.set(name, form.elements[name].value.trim());
  for (const mark of form?.elements.missing.value.split(/\s+/) ?? []) if (mark) params.append("missing", mark);
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
