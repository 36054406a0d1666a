// Findings of an audit: how grave and how harmful, what it says, the examples to the letter, the fix.

import { harmWords, severityChip } from "/page/audits/audit_words.js";
import { shownText, shownWords } from "/page/audits/shown_text.js";
import { h } from "/page/dom.js";
import { count, number } from "/page/numbers.js";

export function findingOf(finding, n) {
  const id = `finding-${n}`;
  return h(
    "li.finding",
    { class: finding.severity, aria: { labelledby: id } },
    h(
      "div.finding-head",
      {},
      severityChip(finding.severity),
      h("h3", { id }, finding.name),
      harmWords(finding.harm),
      finding.of > 1 ? h("span.quiet", {}, `${count(finding.count)} of ${count(finding.of)} show it`) : null,
    ),
    shownWords(finding.says, `What is said of ${finding.name}`),
    finding.examples?.length ? examplesOf(finding) : null,
    finding.note ? h("div.quiet", {}, shownWords(finding.note, `The example of ${finding.name}`)) : null,
    finding.fix ? h("p.fix", {}, h("b", {}, "Fix: "), finding.fix) : null,
    finding.kinds?.length > 1 ? h("p.quiet.kinds", {}, `Kinds: ${finding.kinds.join(", ")}`) : null,
  );
}

const TITLES = ["kind", "prompt", "completion", "is paid", "gold is paid"];

function examplesOf(finding) {
  return h(
    "div.scroll",
    {},
    h(
      "table.examples",
      { aria: { label: `Examples of ${finding.name}` } },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          TITLES.map((words) => h(words.endsWith("paid") ? "th.num" : "th", { scope: "col" }, words)),
        ),
      ),
      h(
        "tbody",
        {},
        finding.examples.map((each, n) =>
          h(
            "tr",
            {},
            h("td", {}, each.kind),
            h("td.said", {}, shownText(each.prompt, `The prompt of example ${n + 1}`)),
            h("td.said", {}, shownText(each.completion, `The completion of example ${n + 1}`)),
            h("td.num", {}, number(each.score)),
            h("td.num", {}, number(each.gold)),
          ),
        ),
      ),
    ),
  );
}
