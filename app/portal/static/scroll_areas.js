// A box whose content is larger than itself is a stop for the keyboard, so that arrows can move it;
// one that shows all it has is none. Without this script every box is one.
const watching = new ResizeObserver((seen) => {
  for (const box of new Set(seen.map(({ target }) => target.closest("[data-box]")))) if (box) judge(box);
});

function judge(box) {
  const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
  if (scrolls) box.tabIndex = 0;
  // Not under somebody's hands: who stands there now goes on from there.
  else if (box !== document.activeElement) box.removeAttribute("tabindex");
}

export function stopWhereTablesScroll() {
  document.querySelectorAll(".table").forEach(stopWhereItScrolls);
}

export function stopWhereItScrolls(box) {
  box.dataset.box = "";
  watching.observe(box);
  for (const part of box.children) watching.observe(part);
}
