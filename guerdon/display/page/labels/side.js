// Beside the queue: how the reward agrees with the labels, commands that use them, and the labels given so far.

import { address } from "/page/asking.js";
import { line } from "/page/copying.js";
import { h, put } from "/page/dom.js";
import { count, number, percent, plural } from "/page/numbers.js";

// `takeBack` is called with the label that is to go.
export function showSide(place, { agreement, commands, labels, damaged, files }, run, takeBack) {
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  put(
    place,
    h("section.card", {}, h("h2", {}, "How the reward agrees"), agreementOf(agreement)),
    h(
      "section.card",
      {},
      h("h2", {}, "Use them"),
      commands.length
        ? commands.map(({ words, command }) => [h("p.quiet", {}, words), line(command, `Copy: ${words}`)])
        : h(
            "p.quiet",
            {},
            "After the first labels, commands that train on them and check a reward by them stand here. They are kept in ",
            h("code", {}, files[0].path),
            ".",
          ),
    ),
    h(
      "section.card",
      {},
      h("h2", {}, "Labels given"),
      damaged
        ? h(
            "p.bad",
            {},
            `${plural(damaged, "line")} of labels.jsonl cannot be read and ${damaged === 1 ? "is" : "are"} passed over.`,
          )
        : null,
      labelsGiven(labels, run, takeBack),
    ),
  );
  if (focused) place.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

function agreementOf({ rows, auc, checked, pairs }) {
  if (!rows.some((row) => row.count) && !pairs.of) return h("p.quiet", {}, "Nothing is labelled yet.");
  return [
    h(
      "div.scroll",
      {},
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["label", "count", "mean reward", "lowest", "highest"].map((words, n) =>
              h(n ? "th.num" : "th", { scope: "col" }, words),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((row) =>
            h(
              "tr",
              {},
              h(`th.verdict.${row.kind}`, { scope: "row" }, row.kind),
              h("td.num", {}, count(row.count)),
              h("td.num", {}, number(row.mean)),
              h("td.num", {}, number(row.lowest)),
              h("td.num", {}, number(row.highest)),
            ),
          ),
        ),
      ),
    ),
    auc === null
      ? h("p.quiet", {}, "Label some right and some wrong to see how often a right one has the higher reward.")
      : h(
          "p",
          {},
          h("strong", {}, percent(auc, 0)),
          " of pairs of a right sample and another pay the right one more (50 % is chance, a tie counts half).",
        ),
    checked.of
      ? h("p.quiet", {}, `The task's own check agrees with ${count(checked.agree)} of ${count(checked.of)} labels.`)
      : null,
    pairs.of
      ? h(
          "p.quiet",
          {},
          `In ${count(pairs.agree)} of ${count(pairs.of)} compared pairs the better one is paid more, in ${count(pairs.level)} as much.`,
        )
      : null,
  ];
}

function labelsGiven(labels, run, takeBack) {
  if (!labels.length)
    return h(
      "p.quiet",
      {},
      "None yet. ",
      h("kbd", {}, "y"),
      " right, ",
      h("kbd", {}, "n"),
      " wrong, ",
      h("kbd", {}, "h"),
      " hack; ",
      h("kbd", {}, "?"),
      " lists all keys.",
    );
  return h(
    "ul.label-list",
    {},
    labels.slice(0, 50).map((each) => {
      const key = `${each.kind} ${each.step} ${each.episode} ${each.segment} ${each.other?.episode ?? ""}`;
      return h(
        "li",
        {},
        h(`span.verdict.${each.kind}`, {}, each.kind),
        " ",
        h(
          "a",
          {
            href: address(`/rollout/${run}/${each.step}/${encodeURIComponent(each.episode)}`, {
              segment: each.segment || "",
            }),
          },
          each.episode,
        ),
        h(
          "span.label-line",
          {},
          each.other
            ? `${each.kind === "better" ? "than" : "with"} ${each.other.episode}`
            : each.note || each.completion.split("\n")[0],
        ),
        h(
          "button.plain",
          {
            type: "button",
            data: { key },
            aria: { label: `Take back ${each.kind} of ${each.episode}` },
            onclick: () => takeBack(each),
          },
          "take back",
        ),
      );
    }),
  );
}
