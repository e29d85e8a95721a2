// Which of the levels that were tried is the most private that keeps an analysis. Whether a level keeps it
// the service says; a level counts only if every less private one keeps it too.
export function recommend(chooser, levels, percent) {
  const list = chooser.querySelector("[data-recommended]");
  const found = levels[0].keeps.map(({ analysis }) => best(analysis, levels));
  while (list.childElementCount < found.length) list.append(list.firstElementChild.cloneNode(true));
  [...list.children].forEach((place, i) => fill(place, found[i], percent));
  chooser.querySelector("[data-recommending]").textContent = found.length
    ? `Of the ${levels.length === 1 ? "one level" : `${levels.length} levels`} tried so far. Press one, and the slider moves there.`
    : "There is no number whose analysis could be judged.";
}

function best(analysis, levels) {
  const inTheWay = levels.map(({ keeps }) => keeps.find((one) => one.analysis === analysis)?.but ?? []);
  const first = inTheWay.findIndex((but) => but.length);
  const kept = first === -1 ? levels.at(-1) : levels[first - 1];
  return { analysis, privacy: kept?.privacy ?? null, but: inTheWay[first] ?? [] };
}

// Places are there from the start, so that nothing moves; one that is not needed stays empty.
function fill(place, found, percent) {
  place.classList.toggle("unused", !found);
  if (!found) return;
  const [button, words] = place.children;
  const { analysis, privacy, but } = found;
  button.disabled = privacy === null;
  if (privacy === null) delete button.dataset.mark;
  else button.dataset.mark = 100 * privacy;
  button.textContent = `${privacy === null ? "none" : percent(privacy)}: ${analysis}`;
  const names = but.join(", ");
  words.textContent = !but.length ? "kept by every level tried" : privacy === null ? `lost at every level tried, for ${names}` : `beyond it lost for ${names}`;
}
