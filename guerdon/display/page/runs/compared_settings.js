// What compared runs did differently: a row a setting, a column an arm.

import { h } from "/page/dom.js";
import { plural } from "/page/numbers.js";

const FEW = 12; // settings that are shown unfolded

export function differingSettings([rows, letters]) {
  const table = (some, label) =>
    h(
      "div.scroll",
      {},
      h(
        "table.settings-table",
        { aria: { label } },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "setting"),
            letters.map((letter) => h("th", { scope: "col" }, letter)),
          ),
        ),
        h(
          "tbody",
          {},
          some.map((row) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, row.name),
              row.values.map((text) => h("td.mono.wrap", {}, text)),
            ),
          ),
        ),
      ),
    );
  const rest = rows.slice(FEW);
  return [
    h("h2", {}, "What was done differently"),
    rows.length
      ? table(rows.slice(0, FEW), "Settings that differ")
      : h("p.quiet", {}, "Nothing that their run.json tells."),
    rest.length
      ? h(
          "details",
          {},
          h("summary", {}, `${plural(rest.length, "more difference")}`),
          table(rest, "More settings that differ"),
        )
      : null,
  ];
}
