// Downloads with progress. What is very large is left to the browser, which writes it to the disk
// as it comes instead of holding it.
import { ask } from "./http.js";
import { byQuarters, say } from "./announcements.js";
import { figure } from "./numbers.js";

const MOST_HELD = 256 * 2 ** 20;

function size(bytes) {
  const units = ["bytes", "KB", "MB", "GB"];
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  return `${figure(bytes / 1000 ** step)} ${units[step]}`;
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// The name as it is, or in ASCII where the answer says no other.
function nameOf(disposition) {
  const whole = /filename\*=UTF-8''([^;]+)/.exec(disposition);
  return whole ? decodeURIComponent(whole[1]) : /filename="([^"]+)"/.exec(disposition)[1];
}

async function fetched(address, box, signal) {
  const bar = box.querySelector("progress");
  const words = box.querySelector("[data-words]");
  const answer = await ask(address, { signal, headers: { Accept: "*/*" } });
  const expected = Number(answer.headers.get("x-expected-bytes"));
  if (expected > MOST_HELD) return null;
  const parts = [];
  const told = byQuarters("Download");
  let received = 0;
  for (const reader = answer.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    received += value.length;
    bar.value = Math.min(0.99, received / Math.max(expected, 1));
    told(bar.value);
    words.textContent = `${size(received)} of about ${size(Math.max(expected, received))}`;
  }
  const name = nameOf(answer.headers.get("content-disposition"));
  save(new Blob(parts), name);
  bar.value = 1;
  return `${name} is saved: ${size(received)}.`;
}

export function offerDownloads() {
  const box = document.getElementById("download-progress");
  let under_way;
  const cancel = box.querySelector("[data-cancel]");
  cancel.addEventListener("click", () => under_way?.abort());
  document.addEventListener("click", async (event) => {
    const link = event.target.closest("[data-download]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    under_way?.abort();
    const mine = (under_way = new AbortController());
    const words = box.querySelector("[data-words]");
    box.hidden = cancel.hidden = false;
    words.textContent = "It is being made.";
    say(words.textContent);
    box.querySelector("progress").value = 0;
    try {
      const said = await fetched(link.href, box, mine.signal);
      if (said === null) {
        mine.abort();
        words.textContent = "It is large: your browser takes it from here.";
        location.assign(link.href);
      } else words.textContent = said;
    } catch (problem) {
      if (under_way !== mine) return; // another one was begun meanwhile
      words.textContent = mine.signal.aborted ? "Cancelled; nothing was saved." : `It did not work: ${problem.message}`;
    }
    say(words.textContent);
    // What is over cannot be cancelled; who stands there goes back to where the download began.
    if (cancel === document.activeElement) link.focus();
    cancel.hidden = true;
  });
}
