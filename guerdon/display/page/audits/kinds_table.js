// By kind of completion: how often it is wrongly scored, with the interval, and what it is paid. Kinds without an error are folded.

import { intervalWords, rateBar } from "/page/audits/rate_bar.js";
import { h } from "/page/dom.js";
import { count, number, percent, plural } from "/page/numbers.js";

const TITLES = [
  ["kind"],
  ["should be paid"],
  ["count", "num"],
  ["wrongly scored", "num"],
  ["", "drawn"],
  ["95 % interval", "num"],
  ["mean", "num"],
  ["lowest", "num"],
  ["highest", "num"],
  ["failed", "num"],
];

export function kindsTables(kinds) {
  const told = kinds
    .filter((row) => row.kind === "gold" || row.errors || row.rate === null)
    .sort((a, b) => (b.kind === "gold") - (a.kind === "gold") || (b.rate ?? -1) - (a.rate ?? -1));
  const clean = kinds.filter((row) => !told.includes(row));
  const many = clean.reduce((sum, row) => sum + row.count, 0);
  return [
    told.length ? table(told, "Kinds of completion") : null,
    clean.length
      ? h(
          "details.clean-kinds",
          {},
          h(
            "summary",
            {},
            `None wrongly scored among ${plural(many, "completion")} of ${plural(clean.length, told.length ? "other kind" : "kind")}`,
          ),
          table(clean, "Kinds that are never wrongly scored"),
        )
      : null,
  ];
}

function table(rows, label) {
  return h(
    "div.scroll",
    {},
    h(
      "table.kinds-table",
      { aria: { label } },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          TITLES.map(([words, more]) => h("th", { class: more ?? "", scope: words ? "col" : null }, words)),
        ),
      ),
      h("tbody", {}, rows.map(rowOf)),
    ),
  );
}

function rowOf(row) {
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, row.kind),
    h("td", {}, row.right ? "as gold" : "less"),
    h("td.num", {}, count(row.count)),
    h("td.num", {}, percent(row.rate)),
    h("td.drawn", {}, rateBar(row, `${row.kind}, wrongly scored`)),
    h("td.num.quiet", {}, row.rate === null ? "–" : intervalWords(row)),
    [row.mean, row.lowest, row.highest].map((value) => h("td.num", {}, number(value))),
    h("td.num", {}, row.failed ? h("span.bad", {}, count(row.failed)) : "0"),
  );
}
