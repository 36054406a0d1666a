// Keys that can be pressed. Each has words; `?` lists those of the view. None is taken while somebody types, but Escape.

import { h, put } from "/page/dom.js";

const held = []; // layers of keys, the last one first: a view, a dialog over it
const always = layer("everywhere");
let lead = ""; // the first of two keys in a row: g r

export function layer(name) {
  const made = { name, keys: new Map() };
  made.on = (keys, words, call) => {
    for (const key of [keys].flat()) made.keys.set(key, { words, call, shown: [keys].flat() });
    return made;
  };
  return made;
}

export function everywhere(keys, words, call) {
  always.on(keys, words, call);
}

// Keys of a view or a dialog, until it is gone: hold(layer) gives the function that lets go of them.
export function hold(keys) {
  held.unshift(keys);
  return () => {
    const at = held.indexOf(keys);
    if (at >= 0) held.splice(at, 1);
  };
}

function typing(target) {
  return (
    target.isContentEditable ||
    target.tagName === "TEXTAREA" ||
    target.tagName === "SELECT" ||
    (target.tagName === "INPUT" && !["checkbox", "radio", "button", "range"].includes(target.type))
  );
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (typing(event.target) && event.key !== "Escape") return;
  if (event.key === " " && event.target.closest?.("button, summary, a, [role=button]")) return;
  if (event.key === "Enter" && event.target.closest?.("button, summary, a[href]")) return;
  const both = lead ? `${lead} ${event.key}` : event.key;
  lead = "";
  for (const { keys, alone } of [...held, always]) {
    const one = keys.get(both);
    if (one) {
      if (one.call(event) !== false) event.preventDefault();
      return;
    }
    if (alone) return; // a dialog: what lies below it is out of reach
  }
  if ([...held, always].some(({ keys }) => [...keys.keys()].some((key) => key.startsWith(`${event.key} `))))
    lead = event.key;
});

const NAMES = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", " ": "space", Escape: "esc" };

export function showKeys() {
  const seen = new Set();
  const rows = ({ name, keys }) => {
    const each = [...keys.values()].filter((one) => one.words && !seen.has(one) && seen.add(one));
    const shown = new Map(each.map((one) => [one.words, one.shown]));
    return shown.size
      ? [
          h("h3", {}, name),
          h(
            "dl.keys",
            {},
            [...shown].map(([words, all]) => [
              h(
                "dt",
                {},
                all.map((key) =>
                  [...key.split(" ").filter(Boolean), ...(key === " " ? [" "] : [])].map((k) =>
                    h("kbd", {}, NAMES[k] ?? k),
                  ),
                ),
              ),
              h("dd", {}, words),
            ]),
          ),
        ]
      : [];
  };
  openDialog("Keys", [...held, always].map(rows));
}

// A dialog: focus goes in and comes back, Escape and the button close it.
export function openDialog(title, content, onclose = () => {}) {
  const dialog = h("dialog.sheet", { aria: { label: title } });
  put(
    dialog,
    h(
      "div.sheet-head",
      {},
      h("h2", {}, title),
      h("button.plain", { type: "button", aria: { label: "Close" }, onclick: () => dialog.close() }, "×"),
    ),
    h("div.sheet-body", {}, content),
  );
  const letGo = hold(
    Object.assign(
      layer(title).on("Escape", "close", () => dialog.close()),
      { alone: true },
    ),
  );
  dialog.addEventListener("close", () => {
    letGo();
    dialog.remove();
    onclose();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
