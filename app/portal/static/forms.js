// A form that cannot be carried out says so beside itself, and keeps what was typed. Without this
// script the same words come as a page.
import { token } from "./http.js";

export function notice(kind, title, text, heading = "h3") {
  const box = document.createElement("div");
  box.className = `notice ${kind}`;
  box.tabIndex = -1;
  box.setAttribute("role", kind === "bad" ? "alert" : "status");
  const head = document.createElement(heading);
  head.textContent = title;
  const words = document.createElement("p");
  words.textContent = text;
  box.append(head, words);
  return box;
}

function complain(form, title, words) {
  const box = notice("bad", title, words);
  form.prepend(box);
  box.focus();
}

async function send(form, button) {
  form.querySelector(":scope > .notice")?.remove();
  button?.setAttribute("aria-busy", "true");
  button?.setAttribute("disabled", "");
  try {
    const answer = await fetch(form.action, {
      method: "POST",
      headers: { Accept: "application/json", "X-Form-Token": token() },
      body: new URLSearchParams(new FormData(form, button ?? undefined)),
    });
    if (answer.ok) {
      location.assign(answer.url);
      return;
    }
    const problem = await answer.json();
    complain(form, problem.title, problem.detail);
  } catch {
    complain(form, "No answer", "The service did not answer. Look at your connection, and try again.");
  }
  button?.removeAttribute("aria-busy");
  button?.removeAttribute("disabled");
}

export function answerInPlace() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || form.dataset.plain !== undefined) return;
    const question = event.submitter?.dataset.confirm;
    event.preventDefault();
    if (question && !confirm(question)) return;
    send(form, event.submitter);
  });
}
