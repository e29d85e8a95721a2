// Light or dark: what the system says until somebody chooses. The choice is a cookie, so that the
// server can write it into the page and nothing flickers.
const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");

export function theme() {
  return root.dataset.theme ?? (dark.matches ? "dark" : "light");
}

export function whenThemeChanges(act) {
  dark.addEventListener("change", act);
  new MutationObserver(act).observe(root, { attributeFilter: ["data-theme"] });
}

export function offerThemes() {
  const button = document.querySelector("[data-theme-switch]");
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    const chosen = theme() === "dark" ? "light" : "dark";
    root.dataset.theme = chosen;
    document.cookie = `cornerwave_theme=${chosen}; path=/portal; max-age=31536000; samesite=lax`;
  });
}
