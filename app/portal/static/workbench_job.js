// Watches a work until it has ended; then its page says what came of it.
import { ask } from "./http.js";
import { say } from "./announcements.js";

const place = document.getElementById("watched");
const LOOKS = 500;
let told;

async function look() {
  let said;
  try {
    said = await (await ask(place.dataset.state)).json();
  } catch {
    setTimeout(look, 4 * LOOKS);
    return;
  }
  if (said.ended) {
    location.reload();
    return;
  }
  if (said.total > 0) place.querySelector("[data-bar]").value = said.done / said.total;
  const left = said.remaining_seconds === null ? "" : `, about ${Math.max(1, Math.round(said.remaining_seconds))} seconds left`;
  const doing = said.cancelling ? "It is being cancelled." : said.step || "It waits for its turn.";
  if (doing !== told) say((told = doing));
  place.querySelector("[data-words]").textContent = said.cancelling || !said.step ? doing : doing + left;
  setTimeout(look, LOOKS);
}

look();
