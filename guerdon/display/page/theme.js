// Light, dark or as the system has it, kept by the browser.

const THEMES = ["auto", "light", "dark"];
const SIGNS = { auto: "◐", light: "☀", dark: "☾" };

function theme(chosen) {
  const button = document.getElementById("theme");
  document.documentElement.dataset.theme = chosen;
  button.textContent = SIGNS[chosen];
  button.setAttribute("aria-label", `Colours: ${chosen === "auto" ? "as the system has them" : chosen}`);
  try {
    localStorage.setItem("guerdon-theme", chosen);
  } catch {
    /* a browser that keeps nothing */
  }
}

export function nextTheme() {
  theme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]);
}

export function beginTheme() {
  let kept = "auto";
  try {
    kept = localStorage.getItem("guerdon-theme") ?? "auto";
  } catch {
    /* likewise */
  }
  theme(THEMES.includes(kept) ? kept : "auto");
  document.getElementById("theme").addEventListener("click", nextTheme);
}
