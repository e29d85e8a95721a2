// Asking the service from a script: the token of the session goes along, and a problem is an error
// that carries the problem document.
export function token() {
  return document.querySelector('meta[name="form-token"]')?.content ?? "";
}

export class Problem extends Error {
  constructor(problem) {
    super(problem.detail);
    this.title = problem.title;
    this.problem = problem;
  }
}

export async function ask(address, options = {}) {
  const headers = { Accept: "application/json", "X-Form-Token": token(), ...options.headers };
  const answer = await fetch(address, { ...options, headers });
  if (answer.ok) return answer;
  const words = { title: "No answer", detail: `The service answered with status ${answer.status}.` };
  throw new Problem(await answer.json().catch(() => words));
}
