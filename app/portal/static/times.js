// Moments in the local time of the browser; the page has them in UTC, and so has their title.
const FORMATS = {
  day: new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" }),
  moment: new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" }),
};

export function showLocalTimes(root = document) {
  for (const one of root.querySelectorAll("time[data-local]")) {
    one.textContent = FORMATS[one.dataset.local].format(new Date(one.dateTime));
  }
}
