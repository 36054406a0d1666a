// Two audits of a task, before and after a fix: which findings went, which came, which stayed, and the rates of both.

import { countChips, harmWords, keptWhole, severityChip, took } from "/page/audits/audit_words.js";
import { rateBar, rateWords } from "/page/audits/rate_bar.js";
import { shownWords } from "/page/audits/shown_text.js";
import { address, get } from "/page/asking.js";
import { h, put } from "/page/dom.js";
import { layer } from "/page/keys.js";
import { count, number, signed } from "/page/numbers.js";
import { again, when } from "/page/runs/run_words.js";

const SIDES = ["before", "after"];

export async function show(place, around) {
  around.title("Audits compared");
  const two = around.query.getAll("audit");
  if (two.length !== 2) {
    const mark = ["Mark two audits of a task in ", h("a", { href: "/audits" }, "the list"), " with x, and press c."];
    put(place, h("h1", {}, "Audits compared"), h("p.empty", {}, mark));
    return;
  }
  const swapped = address("/audits/compare", { audit: [two[1], two[0]] });
  around.keys(layer("audits compared").on("s", "swap", () => around.go(swapped, { replace: true })));
  put(place, h("p", { role: "status" }, "Reading the audits…"));
  const whole = keptWhole(place);
  const refresh = around.guard(async () => {
    const told = await get("/api/audits/compare", { audit: two });
    if (!around.here()) return;
    around.fault(null);
    whole(told, page);
  });
  again(around, refresh, { concerns: (ids) => two.some((id) => ids.includes(id)) });
  await refresh();

  function page(told) {
    return [
      h("p.crumbs", {}, h("a", { href: "/audits" }, "Audits"), h("span.quiet", {}, ` / ${told.about[0].task}`)),
      h("div.title-line", {}, h("h1", {}, "Audits compared"), h("a.said", { href: swapped }, "swap")),
      h("div.audit-sides", {}, told.about.map(side)),
      h("p.big", { role: "status" }, lineOf(told)),
      section("Fixed", told.went, "No earlier finding disappeared."),
      section("New", told.came, "No new finding."),
      stayed(told.stayed),
      kinds(told.kinds),
      numbers(told.numbers),
    ];
  }
}

function lineOf({ went, came, stayed }) {
  return `${count(went.length)} fixed, ${count(came.length)} new, ${count(stayed.length)} unchanged.`;
}

function side(about, n) {
  return h(
    "div.card",
    {},
    h("p.quiet", {}, `${SIDES[n]}, ${when(about.when)}`),
    h("p", {}, h("a", { href: `/audits/${about.id}` }, about.reward), h("span.quiet", {}, ` ${about.path}`)),
    countChips(about),
  );
}

function section(words, findings, none) {
  return h(
    "section",
    { aria: { label: words } },
    h("h2", {}, words),
    findings.length
      ? h(
          "ul.findings",
          { class: words.toLowerCase() },
          findings.map((each) =>
            h(
              "li.finding",
              { class: each.severity },
              h("div.finding-head", {}, severityChip(each.severity), h("h3", {}, each.name), harmWords(each.harm)),
              shownWords(each.says, `What is said of ${each.name}`),
              each.fix && words === "Came" ? h("p.fix", {}, h("b", {}, "Fix: "), each.fix) : null,
            ),
          ),
        )
      : h("p.quiet", {}, none),
  );
}

function table(label, titles, rows) {
  const title = ([words, more]) => h("th", { class: more ?? "", scope: "col" }, words);
  return h(
    "div.scroll",
    {},
    h("table", { aria: { label } }, h("thead", {}, h("tr", {}, titles.map(title))), h("tbody", {}, rows)),
  );
}

function stayed(pairs) {
  if (!pairs.length) return null;
  const titles = [["finding"], ["before"], ["after"], ["harm before", "num"], ["harm after", "num"], ["it says now"]];
  const row = ([before, after]) =>
    h(
      "tr",
      {},
      h("td", {}, before.name),
      [before, after].map((each) => h("td", {}, severityChip(each.severity))),
      [before, after].map((each) => h("td.num", {}, number(each.harm, 2))),
      h("td.wrap", {}, shownWords(after.says, `What is said of ${after.name}`)),
    );
  return h(
    "section",
    { aria: { label: "Unchanged" } },
    h("h2", {}, "Unchanged"),
    table("Unchanged findings", titles, pairs.map(row)),
  );
}

function kinds(rows) {
  if (!rows.length) return null;
  const titles = [["kind"], ["before"], [""], ["after"], [""], ["change, points", "num"]];
  const cells = (rate, kind, n) => [
    h("td.drawn", {}, rateBar(rate, `${kind}, wrongly scored ${SIDES[n]}`)),
    h("td", {}, rateWords(rate)),
  ];
  const row = ({ kind, rates, change }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, kind),
      rates.map((rate, n) => cells(rate, kind, n)),
      h(
        "td.num",
        { class: change > 0 ? "bad" : change < 0 ? "good" : "" },
        change === null ? "–" : signed(100 * change, 1),
      ),
    );
  return [h("h2", {}, "Wrongly scored, by kind"), table("Wrongly scored by kind", titles, rows.map(row))];
}

function numbers(both) {
  const rate = (name) => (each) => rateWords(each.rates[name]);
  const lines = [
    ["wrong ones accepted", rate("false_positives")],
    ["right ones refused", rate("false_negatives")],
    ["right paid above wrong (AUC)", (each) => number(each.auc.auc)],
    ["pairs out of order", (each) => count(each.partial.out_of_order)],
    ["a call takes", (each) => took(each.seconds.median)],
  ];
  const row = ([words, of]) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, words),
      both.map((each) => h("td", {}, of(each))),
    );
  return [h("h2", {}, "Over all kinds"), table("Over all kinds", [[""], ["before"], ["after"]], lines.map(row))];
}
