// Tracing a found table.
import { stopWhereTablesScroll } from "./scroll_areas.js";
import { nameCells } from "./stacked_tables.js";
import { Sender, takeFiles } from "./upload.js";

const place = document.getElementById("upload");
const traced = document.getElementById("traced");
const sender = new Sender(place);

takeFiles(place.querySelector("[data-drop]"), async (file) => {
  traced.replaceChildren();
  const answer = await sender.send(place.dataset.address, file, "It is being compared with every copy.");
  if (!answer) return;
  const page = new DOMParser().parseFromString(answer.responseText, "text/html");
  traced.replaceChildren(...page.body.childNodes);
  nameCells();
  stopWhereTablesScroll();
  document.getElementById("verdict").focus();
});
