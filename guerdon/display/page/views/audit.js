// One audit: the verdict in a line, the findings ranked, then all that was measured.

import { keptWhole, ofAudits, verdictLine } from "/page/audits/audit_words.js";
import { findingOf } from "/page/audits/findings.js";
import { kindsTables } from "/page/audits/kinds_table.js";
import { componentsTable, failuresTable, measuredPairs } from "/page/audits/measured.js";
import { LEGEND } from "/page/audits/shown_text.js";
import { address, get } from "/page/asking.js";
import { h, put } from "/page/dom.js";
import { Roving } from "/page/lists.js";
import { plural } from "/page/numbers.js";
import { again, when } from "/page/runs/run_words.js";

export async function show(place, around) {
  const id = around.params.audit;
  let beside = null; // what `c` leads to
  const findings = new Roving({ open: (n) => openTexts(findings.rows[n]) });
  const keys = findings.keys("findings").on("c", "compare with another audit of the task", () => {
    if (beside) around.go(beside());
  });
  put(place, h("p", { role: "status" }, "Reading the audit…"));
  const rooms = { head: h("section"), findings: h("section"), rest: h("section") };
  const parts = Object.fromEntries(Object.entries(rooms).map(([name, room]) => [name, keptWhole(room)]));
  let shown = false;
  const refresh = around.guard(async () => {
    const told = await get(`/api/audits/one/${encodeURIComponent(id)}`).catch((error) => {
      if (!shown && around.here())
        put(place, h("p", {}, "This audit cannot be shown. ", h("a", { href: "/audits" }, "All audits")));
      throw error;
    });
    if (!around.here()) return;
    around.fault(null);
    const { about, audit, others } = told;
    if (!shown) put(place, rooms.head, rooms.findings, rooms.rest);
    shown = true;
    around.title(audit ? `Audit of ${audit.reward}` : about.name);
    parts.head({ about, audit, others }, head);
    if (parts.findings(audit && audit.findings, findingsPart))
      findings.set([...rooms.findings.querySelectorAll(".finding")]);
    parts.rest(audit, restPart);
  });
  around.keys(keys);
  again(around, refresh, { concerns: ofAudits });
  await refresh();

  function head({ about, audit, others }) {
    const crumbs = h("p.crumbs", {}, h("a", { href: "/audits" }, "Audits"), h("span.quiet", {}, ` / ${about.path}`));
    if (!audit) return [crumbs, h("h1", {}, about.name), h("p.bad", {}, about.why)];
    const facts = [
      plural(audit.problems, "problem"),
      plural(audit.samples, "completion"),
      audit.tokens ? `tokens counted by ${audit.tokens}` : "",
      audit.form ? `answers written as ${audit.form}` : "",
      when(about.when),
    ];
    return [
      crumbs,
      h("h1", {}, audit.reward, h("span.quiet.label-run", {}, ` on ${audit.task}`)),
      h("p.big.verdict-line", {}, verdictLine(about, audit.findings)),
      h("p.quiet", {}, facts.filter(Boolean).join(", ")),
      comparing(about, others),
    ];
  }

  // A choice of the others of its task, the one before it first; the older of two stands on the left.
  function comparing(about, others) {
    beside = null;
    if (!others.length) return h("p.quiet", {}, `No other audit of ${about.task} is here to compare it with.`);
    const before = others.find((each) => each.when <= about.when) ?? others.at(-1);
    const select = h(
      "select",
      { aria: { label: "Compare with" }, data: { key: "others" }, onchange: () => link.setAttribute("href", beside()) },
      others.map((each) =>
        h(
          "option",
          { value: each.id, selected: each.id === before.id },
          `${each.reward}, ${each.name}, ${when(each.when)}`,
        ),
      ),
    );
    beside = () => {
      const other = others.find((each) => each.id === select.value) ?? before;
      const two = other.when <= about.when ? [other.id, about.id] : [about.id, other.id];
      return address("/audits/compare", { audit: two });
    };
    const link = h("a.button", { href: "#", data: { key: "compare" } }, "Compare");
    link.setAttribute("href", beside());
    return h("div.toolbar", {}, h("label", {}, "compare with", select), link);
  }
}

function findingsPart(all) {
  if (!all) return null;
  if (!all.length) return h("p", {}, "Nothing speaks against this reward, as far as it was asked.");
  return [h("h2", {}, "Findings"), h("p.quiet.legend-line", {}, LEGEND), h("ol.findings", {}, all.map(findingOf))];
}

function restPart(audit) {
  if (!audit) return null;
  return [
    audit.kinds?.length ? [h("h2", {}, "By kind of completion"), kindsTables(audit.kinds)] : null,
    h("h2", {}, "Measured"),
    measuredPairs(audit),
    failuresTable(audit),
    componentsTable(audit.components),
  ];
}

// All texts of a finding, or none where all are open.
function openTexts(finding) {
  const buttons = [...finding.querySelectorAll("button[data-opens]")];
  const closed = buttons.filter((button) => button.getAttribute("aria-expanded") !== "true");
  for (const button of closed.length ? closed : buttons) button.click();
}
