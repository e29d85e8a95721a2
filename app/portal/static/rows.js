// Appending the rows of a file.
import { notice } from "./forms.js";
import { count } from "./numbers.js";
import { Sender, takeFiles } from "./upload.js";

const place = document.getElementById("append");
const sender = new Sender(place);
const ALLOWED = {
  "duplicate-key": "allow_versions",
  "duplicate-rows": "allow_versions",
  "rows-overlap": "allow_overlap",
};

async function append(file, allowed = {}) {
  const params = new URLSearchParams(allowed);
  const answer = await sender.send(`${place.dataset.address}?${params}`, file, "The rows are being kept.");
  if (!answer) {
    offerAnyway(file, allowed);
    return;
  }
  const { appended, pending, rows, notices } = JSON.parse(answer.responseText);
  document.getElementById("rows-now").textContent = count(rows);
  const words = pending ? "They are pending, sealed, until enough rows have come." : "Every copy has them from now on.";
  sender.say(notice(notices.length ? "warn" : "good", `${count(appended)} rows are appended`, [words, ...notices].join(" ")));
}

function offerAnyway(file, allowed) {
  const means = ALLOWED[sender.refused?.type?.split("/").pop()];
  const box = sender.problem.firstElementChild;
  if (!means || !box) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet small";
  button.textContent = "Append them all the same";
  button.addEventListener("click", () => append(file, { ...allowed, [means]: "true" }));
  box.append(button);
}

takeFiles(place.querySelector("[data-drop]"), (file) => append(file));
