// How one labels: one at a time or two, in which order, labelled ones too, with or without scores.

import { h, put } from "/page/dom.js";

export function showControls(place, { two: asPairs, order: chosen, every, blind, orders: known }, { change, hide }) {
  const mode = (words, two) =>
    h("button", { type: "button", aria: { pressed: String(asPairs === two) }, onclick: () => change({ two }) }, words);
  const orders = Object.entries(known).map(([name, words]) =>
    h("option", { value: name, selected: name === chosen }, words),
  );
  put(
    place,
    h(
      "span",
      { role: "group", aria: { label: "How" } },
      mode("one at a time", false),
      " ",
      mode("two tries side by side", true),
    ),
    asPairs
      ? null
      : [
          h("label", {}, "order", h("select", { onchange: (event) => change({ order: event.target.value }) }, orders)),
          h(
            "label",
            {},
            h("input", {
              type: "checkbox",
              checked: every,
              onchange: (event) => change({ every: event.target.checked }),
            }),
            "labelled ones too",
          ),
        ],
    h(
      "label",
      {},
      h("input", { type: "checkbox", checked: blind, onchange: (event) => hide(event.target.checked) }),
      "without scores",
    ),
  );
}
