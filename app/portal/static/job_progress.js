// A job that runs: its progress, until it leads to what came of it.
import { ask } from "./http.js";
import { say } from "./announcements.js";

const place = document.getElementById("waiting");
const bar = place.querySelector("progress");
const words = place.querySelector("[data-words]");
const LOOK_MS = 700;

function tell(said) {
  if (words.textContent === said) return;
  words.textContent = said;
  say(said);
}

async function look() {
  let job;
  try {
    job = await (await ask(place.dataset.address)).json();
  } catch (problem) {
    tell(`How far it is cannot be told: ${problem.message}`);
    return;
  }
  if (job.address) {
    location.replace(job.address);
    return;
  }
  if (job.ended) {
    bar.hidden = true;
    place.querySelector("form").hidden = true;
    tell(job.problem ? `It did not work: ${job.problem}` : `It was ${job.state}.`);
    return;
  }
  if (job.total) bar.value = job.done / job.total;
  if (job.step) tell(`${job.step[0].toUpperCase()}${job.step.slice(1)}.`);
  setTimeout(look, LOOK_MS);
}

look();
