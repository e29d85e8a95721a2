// What happens without a page of its own is said to those who do not see it, by one live region that
// every page has from the start. Figures that run are for the eye: of them only the quarters are said.
export function say(words) {
  document.getElementById("spoken").textContent = words;
}

export function byQuarters(doing) {
  let last = 0;
  return (share) => {
    const quarter = Math.min(3, Math.floor(4 * share));
    if (quarter <= last) return;
    last = quarter;
    say(`${doing}: ${25 * quarter} %`);
  };
}
