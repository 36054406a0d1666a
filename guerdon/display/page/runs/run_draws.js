// What a curriculum drew over a run, as shares of its kinds.

import { stackChart } from "/page/charts/stack_chart.js";
import { h, put } from "/page/dom.js";
import { percent } from "/page/numbers.js";

// Gives draw(draws, open), which shows them in the room, or hides it where there are none.
export function runDraws(room) {
  let chart = null;
  return (draws, open) => {
    room.hidden = !draws;
    if (!draws) return;
    const next = {
      label: "What the curriculum drew",
      columns: draws,
      height: 190,
      latest: "shares of the tasks asked for",
      open,
    };
    if (!chart) {
      chart = stackChart(next);
      put(
        room,
        h("h2", {}, "Draws"),
        h("div.draws", {}, h("div.card", {}, chart.element), h("div.scroll", { data: { legend: "" } })),
      );
    } else chart.update(next);
    put(
      room.querySelector("[data-legend]"),
      h(
        "table",
        { aria: { label: "Shares of kinds" } },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "kind"),
            ["first tenth", "last tenth", "all"].map((each) => h("th.num", { scope: "col" }, each)),
          ),
        ),
        h(
          "tbody",
          {},
          draws.kinds.map((kind) =>
            h(
              "tr",
              {},
              h(
                "td",
                {},
                h(`span.swatch.piece.hue-${kind.hue}`, {
                  style: { "--depth": `${kind.depth.toFixed(0)}%` },
                  aria: { hidden: "true" },
                }),
                kind.kind,
              ),
              [kind.early, kind.late, kind.whole].map((share) => h("td.num", {}, percent(share ?? null))),
            ),
          ),
        ),
      ),
    );
  };
}
