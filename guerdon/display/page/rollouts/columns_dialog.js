// Which columns the list has.

import { h } from "/page/dom.js";
import { openDialog } from "/page/keys.js";
import { USUAL, columnsOf } from "/page/rollouts/rows.js";
import { Asked } from "/page/rollouts/state.js";

// `runs()` are those that are listed now.
export function columnsDialog(asked, runs, changed) {
  const every = [...new Set(runs().flatMap((run) => [...run.plain, ...run.columns]))];
  const order = (names) => [
    ...USUAL.filter((name) => names.includes(name)),
    ...names.filter((name) => !USUAL.includes(name)),
  ];
  const shown = columnsOf(asked, runs());
  const boxes = order(every).map((name) =>
    h(
      "label.box",
      {},
      h("input", { type: "checkbox", value: name, checked: shown.includes(name), onchange: () => apply() }),
      name,
    ),
  );
  const apply = () => {
    const names = boxes
      .map((box) => box.querySelector("input"))
      .filter((input) => input.checked)
      .map((input) => input.value);
    const usual = columnsOf(new Asked(new URLSearchParams()), runs()).filter((name) => name !== "run");
    asked.set("show", ...(names.join("\n") === usual.join("\n") ? [] : names));
    changed();
  };
  openDialog("Columns of the list", h("div.columns", {}, boxes));
}
