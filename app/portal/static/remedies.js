// Problems of a table that was refused: each with buttons that settle it, beside the first rows with the doubtful
// cells marked. What a button adds goes along with every later look at the file.
const SAMPLE_BYTES = 65_536, MOST_ROWS = 8;

export class Remedies {
  constructor(apply) {
    this.apply = apply;
    this.forget();
  }

  forget() {
    this.lists = new Map();
    this.columns = {};
  }

  take(parameters) {
    for (const [name, value] of Object.entries(parameters)) {
      if (name === "columns") Object.assign(this.columns, value);
      else this.lists.set(name, Array.isArray(value) ? [...new Set([...(this.lists.get(name) ?? []), ...value.map(String)])] : [String(value)]);
    }
  }

  addTo(params, said) {
    for (const [name, values] of this.lists) {
      params.delete(name);
      for (const value of values) params.append(name, value);
    }
    return { ...this.columns, ...said };
  }

  // What the form of a look shows by now is changed there.
  leaveTo(form) {
    for (const name of [...this.lists.keys()]) if (form.elements[name]) this.lists.delete(name);
    this.columns = {};
  }

  // The list of problems, or null where there is nothing to press.
  box(problem) {
    const all = problem?.problems ?? [];
    if (!all.some((one) => one.parameters || one.choices)) return null;
    const box = element("div", "stack remedies");
    const list = element("ol", "entries");
    for (const one of all) {
      const item = element("li", "card entry");
      item.append(element("p", "", one.detail));
      const row = element("p", "row");
      for (const parameters of one.choices ?? (one.parameters ? [one.parameters] : [])) row.append(this.button(parameters));
      if (row.childElementCount) item.append(row);
      list.append(item);
    }
    box.append(list);
    const settled = all.filter((one) => one.parameters).length;
    if (problem.parameters && settled > 1) {
      const row = element("p", "row");
      row.append(this.button(problem.parameters, `Apply all ${settled}`));
      box.append(row);
    }
    return box;
  }

  button(parameters, label = words(parameters)) {
    const button = element("button", "small", label);
    button.type = "button";
    button.addEventListener("click", () => { this.take(parameters); this.apply(); });
    return button;
  }
}

function words(parameters) {
  const said = {
    missing: (value) => `Take ${value.join(", ")} for missing`,
    skip_rows: (value) => `Leave out row ${value.join(", ")}`,
    columns: (value) => Object.entries(value).map(([name, one]) => `Read ${name} as ${one.kind === "categorical" ? "a category" : one.kind ?? "said"}`).join(", "),
    decimal: (value) => `Decimal ${value}`,
    dates: (value) => (value === "day_first" ? "Day first" : "Month first"),
    header: (value) => (value === "present" ? "First row holds names" : "First row holds values"),
    delimiter: (value) => `Separator ${{ ",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe" }[value] ?? value}`,
    sheet: (value) => `Sheet ${value}`,
  };
  return Object.entries(parameters).map(([name, value]) => said[name]?.(value) ?? `${name.replaceAll("_", " ")}: ${value}`).join("; ");
}

// The first rows of a text file as they stand in it, and those that problems name; nothing for other files.
export async function firstRows(file, problems) {
  const text = await file.slice(0, SAMPLE_BYTES).text();
  if (text.includes("\0") || !text.includes("\n")) return null;
  const lines = text.split(/\r?\n/);
  const sign = [";", "\t", "|", ","].find((one) => lines[0].includes(one)) ?? ",";
  const names = cells(lines[0], sign);
  const doubtful = new Map();
  for (const one of problems) for (const row of one.rows ?? [one.row]) {
    if (row >= 1 && row < lines.length) doubtful.set(row, [...(doubtful.get(row) ?? []), one.column]);
  }
  const shown = [...new Set([1, 2, 3, ...doubtful.keys()])].filter((row) => lines[row]).sort((a, b) => a - b).slice(0, MOST_ROWS);
  if (!shown.length) return null;
  const table = element("table");
  table.append(line("th", "row", names));
  for (const row of shown) table.append(line("td", row, cells(lines[row], sign), (doubtful.get(row) ?? []).map((name) => names.indexOf(name)), doubtful.has(row)));
  const box = element("div", "table dense");
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "Rows of the file");
  box.append(table);
  return box;
}

function cells(text, sign) {
  return text.split(sign).map((cell) => cell.replace(/^"|"$/g, ""));
}

function line(tag, number, values, marked = [], whole = false) {
  const row = element("tr");
  const head = element("th", "number", String(number));
  head.scope = "row";
  row.append(head);
  values.forEach((value, i) => {
    const cell = element(tag, "nowrap");
    const doubt = marked.includes(i) || (whole && !marked.some((one) => one >= 0));
    cell.append(doubt ? element("mark", "", value || "empty") : value);
    if (tag === "th") cell.scope = "col";
    row.append(cell);
  });
  return row;
}

function element(name, classes = "", text = "") {
  const made = document.createElement(name);
  if (classes) made.className = classes;
  if (text) made.textContent = text;
  return made;
}
