// What an audit measured over all kinds: errors both ways, how well right is told from wrong, what moves a score, what a call
// takes, what failed.

import { took } from "/page/audits/audit_words.js";
import { intervalWords, rateBar, rateWords } from "/page/audits/rate_bar.js";
import { shownText } from "/page/audits/shown_text.js";
import { h } from "/page/dom.js";
import { count, number, plural, signed } from "/page/numbers.js";

export function measuredPairs(audit) {
  const { rates = {}, auc = {}, partial = {}, tried = {}, seconds = {} } = audit;
  return h(
    "dl.pairs.measured",
    {},
    [
      ["wrong ones accepted", rates.false_positives && share(rates.false_positives, "wrong completions accepted")],
      ["right ones refused", rates.false_negatives && share(rates.false_negatives, "right completions refused")],
      ["right paid above wrong", auc.problems ? aucWords(auc) : null],
      ["length, form, place, style", moves(audit.sensitivity ?? {})],
      ["partial credit", partial.pairs === undefined ? null : partialWords(partial)],
      ["a model's own tries", tried.tries === undefined ? null : triedWords(tried)],
      ["a call takes", seconds.on === undefined ? null : callWords(seconds)],
      ["failures", count(audit.failed)],
    ]
      .filter(([, said]) => said)
      .map(([words, said]) => [h("dt", {}, words), h("dd", {}, said)]),
  );
}

function share(rate, words) {
  if (!rate.of || rate.rate === null) return null;
  return [
    rateBar(rate, words),
    " ",
    rateWords(rate),
    h("span.quiet", {}, `, ${count(rate.count)} of ${count(rate.of)}`),
  ];
}

function aucWords(auc) {
  const rate = { rate: auc.auc, low: auc.low, high: auc.high };
  return [
    rateBar(rate, "pairs in which a right completion is paid more than a wrong one"),
    " ",
    number(auc.auc),
    h("span.quiet", {}, ` AUC, ties half; ${intervalWords(rate)} of pairs`),
  ];
}

function moves(sensitivity) {
  const rows = Object.entries(sensitivity).flatMap(([what, byTruth]) =>
    Object.entries(byTruth).map(([truth, told]) => ({ what, truth, ...told })),
  );
  const still = [...new Set(rows.map((row) => row.what))].filter((what) =>
    rows.every((row) => row.what !== what || !row.largest),
  );
  return rows.length
    ? [
        h(
          "ul.plain-list.moves",
          {},
          rows
            .filter((row) => row.largest)
            .map((row) =>
              h(
                "li",
                {},
                `${row.what} alone moves ${row.truth} answers by ${signed(row.mean, 2)}`,
                h(
                  "span.quiet",
                  {},
                  ` of what being right is worth (${signed(row.low, 2)} to ${signed(row.high, 2)}, at most ${signed(row.largest, 2)})`,
                ),
              ),
            ),
          still.length ? h("li", {}, `no score changes with ${still.join(" or ")} alone`) : null,
        ),
      ]
    : null;
}

function partialWords({ gives_partial_credit, out_of_order, pairs, above_gold }) {
  return [
    `${gives_partial_credit ? "given" : "none given"}: ${count(out_of_order)} of ${plural(pairs, "pair")} of better and worse answers out of order`,
    above_gold ? `, ${count(above_gold)} paid above gold` : "",
  ].join("");
}

function triedWords({ tries, judged, right, agree, flat, groups }) {
  return `${plural(tries, "try", "tries")}, ${count(judged)} judged: ${count(right)} right, the reward agrees on ${count(agree)}; all worth the same in ${count(flat)} of ${plural(groups, "problem")}`;
}

function callWords({ median, worst, on }) {
  return [took(median), h("span.quiet", {}, `, at worst ${took(worst)} (${on})`)];
}

// What failed, folded; the first so many of all.
export function failuresTable(audit) {
  if (!audit.failed) return null;
  const shown = audit.failures.length;
  return h(
    "details.audit-failures",
    {},
    h(
      "summary",
      {},
      shown < audit.failed ? `The first ${count(shown)} of ${count(audit.failed)} failures` : "Failures",
    ),
    table(
      "Failures",
      ["part", "kind", "completion", "error"],
      audit.failures.map((each, n) => [
        h("td", {}, each.component),
        h("td", {}, each.kind),
        h("td.said", {}, shownText(each.completion, `The completion of failure ${n + 1}`)),
        h("td.said", {}, each.error),
      ]),
    ),
  );
}

export function componentsTable(components = []) {
  const names = [...new Set(components.flatMap(Object.keys))];
  if (!names.length) return null;
  const told = (value) => (typeof value === "number" || value === null ? number(value) : String(value ?? "–"));
  return [
    h("h2", {}, "Parts"),
    table(
      "Parts of the reward",
      names.map((name) => name.replaceAll("_", " ")),
      components.map((each) => names.map((name) => h(name === "name" ? "td" : "td.num", {}, told(each[name])))),
      true,
    ),
  ];
}

function table(label, titles, rows, numeric = false) {
  return h(
    "div.scroll",
    {},
    h(
      "table",
      { aria: { label } },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          titles.map((words, n) => h("th", { scope: "col", class: n && numeric ? "num" : "" }, words)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((cells) => h("tr", {}, cells)),
      ),
    ),
  );
}
