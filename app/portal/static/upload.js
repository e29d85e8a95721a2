// Files that are dropped or chosen, and sent with progress and a way to cancel.
import { Problem, token } from "./http.js";
import { notice } from "./forms.js";
import { whichSheet } from "./read_options.js";
import { byQuarters, say } from "./announcements.js";
import { figure } from "./numbers.js";

export function size(bytes) {
  const units = ["bytes", "KB", "MB", "GB"];
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  return `${figure(bytes / 1000 ** step)} ${units[step]}`;
}

export function takeFiles(box, take) {
  const input = box.querySelector("input[type=file]");
  const over = (is) => (event) => { event.preventDefault(); box.classList.toggle("over", is); };
  box.addEventListener("dragenter", over(true));
  box.addEventListener("dragover", over(true));
  box.addEventListener("dragleave", over(false));
  box.addEventListener("drop", (event) => {
    over(false)(event);
    if (event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
  });
  const chosen = () => {
    const [file] = input.files;
    input.value = ""; // so that the same file can be chosen again
    if (file) take(file);
  };
  input.addEventListener("change", chosen);
  queueMicrotask(chosen); // a file may be chosen before this script has run
}

// fetch() tells nothing of how much was sent; XMLHttpRequest does.
function sent(address, file, signal, tell) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address);
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("X-Form-Token", token());
    request.upload.addEventListener("progress", (event) => tell(event.loaded, event.total));
    request.addEventListener("load", () => {
      if (request.status < 400) return resolve(request);
      let words = { title: "No answer", detail: `The service answered with status ${request.status}.` };
      try { words = JSON.parse(request.responseText); } catch { /* it is no problem document */ }
      reject(new Problem(words));
    });
    request.addEventListener("error", () => reject(new Problem({ title: "No answer", detail: "The service did not answer, or the file changed while it was read. Choose it again." })));
    request.addEventListener("abort", () => reject(new DOMException("cancelled", "AbortError")));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

export class Sender {
  constructor(place) {
    this.box = place.querySelector("[data-sending]");
    this.bar = this.box.querySelector("progress");
    this.words = this.box.querySelector("[data-words]");
    this.problem = place.querySelector("[data-problem]");
    this.box.querySelector("[data-cancel]").addEventListener("click", () => this.under_way?.abort());
  }

  // The answer to a file, or null when it was cancelled or refused; then the page says so.
  async send(address, file, doing = "It is being read.") {
    const began = `Sending ${file.name}, ${size(file.size)}.`;
    const told = byQuarters("Sending");
    return this.under(address, file, file.name, began, (loaded, total) => {
      this.bar.value = total ? loaded / total : 0;
      told(this.bar.value);
      this.words.textContent = loaded < total ? `${size(loaded)} of ${size(total)} sent` : `All of it is sent. ${doing}`;
    });
  }

  // The same for what is asked about a file that was sent before.
  async ask(address, name, doing) {
    return this.under(address, null, name, doing, () => {});
  }

  async under(address, body, name, began, tell) {
    this.under_way?.abort();
    const mine = (this.under_way = new AbortController());
    this.refused = undefined;
    this.box.hidden = false;
    // Who answered a question here stands on what goes now.
    if (this.problem.contains(document.activeElement)) this.box.querySelector("[data-cancel]").focus();
    this.problem.replaceChildren();
    // Without a file to send there is no share of it that was sent.
    if (body) this.bar.value = 0;
    else this.bar.removeAttribute("value");
    this.words.textContent = began;
    say(began);
    try {
      const answer = await sent(address, body, mine.signal, tell);
      if (this.under_way === mine) this.box.hidden = true;
      return answer;
    } catch (failure) {
      if (this.under_way !== mine) return null;
      this.box.hidden = true;
      const cancelled = failure.name === "AbortError";
      this.refused = cancelled ? null : failure.problem;
      if (this.refused?.sheets) return this.sheetOf(this.refused.sheets, address, body, name, began, tell);
      this.say(cancelled ? notice("", "Cancelled", "Nothing was kept.") : worded(failure.problem));
      return null;
    }
  }

  // A workbook with several sheets is asked about once more, with the sheet that is chosen.
  sheetOf(sheets, address, ...rest) {
    return new Promise((resolve) => {
      this.say(whichSheet(sheets, rest[1], (sheet) => {
        const again = new URL(address, location);
        again.searchParams.set("sheet", sheet);
        resolve(this.under(again, ...rest));
      }));
    });
  }

  say(box) {
    this.problem.replaceChildren(box);
    box.focus();
  }
}

// A problem in its own words, with the place in the table where it has one.
export function worded(problem) {
  const place = [];
  if (problem.column !== undefined) place.push(`column ${problem.column}`);
  if (problem.row !== undefined) place.push(`row ${problem.row}`);
  const box = notice("bad", problem.title, problem.detail);
  if (place.length) {
    const where = document.createElement("p");
    where.className = "small";
    where.textContent = `Where: ${place.join(", ")}.`;
    box.append(where);
  }
  return box;
}
