// A line that people take with them: a command, a formula.

import { h, tell } from "/page/dom.js";

export function copyable(text, words = "Copy") {
  const said = typeof text === "function" ? text : () => text;
  const button = h(
    "button.plain.copy",
    {
      type: "button",
      aria: { label: words },
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(said());
          button.textContent = "copied";
          tell("copied");
        } catch {
          button.textContent = "select it by hand";
        }
        setTimeout(() => {
          button.textContent = "copy";
        }, 1500);
      },
    },
    "copy",
  );
  return button;
}

export function line(text, words) {
  return h("div.copy-line", {}, h("code", { tabindex: 0 }, text), copyable(text, words));
}
