// A button with data-copies="id" copies the text of that element; where the browser keeps the clipboard
// to itself, as without HTTPS, the text is marked instead, so that the keys copy it.
import { say } from "./announcements.js";

function marked(place) {
  getSelection().selectAllChildren(place);
  return "Marked: now press Ctrl+C";
}

export function offerCopying() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copies]");
    if (!button) return;
    const words = (button.dataset.words ??= button.textContent);
    const place = document.getElementById(button.dataset.copies);
    const said = await Promise.resolve(navigator.clipboard?.writeText(place.textContent) ?? Promise.reject())
      .then(() => "Copied", () => marked(place));
    say(said);
    button.textContent = said;
    clearTimeout(button.resting);
    button.resting = setTimeout(() => { button.textContent = words; }, 1600);
  });
}
