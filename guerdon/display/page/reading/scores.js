// Every column's word about a track: its number, its weight in the formula, or why there is none.

import { h } from "/page/dom.js";
import { number, signed } from "/page/numbers.js";

const TONES = { failed: "bad", "timed out": "bad", "not applicable": "quiet", "left out by a stage": "quiet" };

export function scoresOf(rollout, chosen) {
  const several = rollout.tracks.length > 1;
  const roles = new Set(rollout.tracks.map((track) => track.role)).size > 1;
  return rollout.tracks.map((track) => {
    const table = scoreTable(track, rollout.formulas);
    if (!several) return table;
    const words = `${roles ? `${track.role} ` : ""}#${track.path.join(" → #")}`;
    return h(
      "details.track-scores",
      { open: rollout.tracks.length <= 4 || track.segment === chosen },
      h("summary", {}, words, " ", summary(track)),
      table,
    );
  });
}

// what matters most about a track, in a few words
export function scoreChips(track) {
  const of = (name) => track.columns.find((each) => each.name === name);
  const chips = [];
  const [correct, reward, advantage] = ["correct", "reward", "advantage"].map(of);
  if (isVerdict(correct))
    chips.push(h("span.chip", { class: correct.number ? "good" : "bad" }, correct.number ? "right" : "wrong"));
  if (reward)
    chips.push(
      h(
        "span.chip",
        { class: TONES[reward.reason] === "bad" ? "bad" : "" },
        `reward ${reward.number === null ? reward.reason : number(reward.number)}`,
      ),
    );
  const truth = of("truth");
  if (truth) chips.push(h("span.chip", {}, `truth ${truth.number === null ? truth.reason : number(truth.number)}`));
  if (typeof advantage?.number === "number") chips.push(h("span.chip", {}, `advantage ${signed(advantage.number)}`));
  if (!track.learned) chips.push(h("span.chip.wait", {}, "left out by a stage"));
  return chips;
}

function isVerdict(each) {
  return each?.name === "correct" && (each.number === 1 || each.number === 0);
}

function summary(track) {
  const one =
    track.columns.find((each) => each.name === "reward" && each.number !== null) ??
    track.columns.find((each) => each.name === "correct" && each.number !== null);
  return one ? h("span.quiet", {}, `${one.name} ${number(one.number)}`) : null;
}

function scoreTable(track, formulas) {
  if (!track.columns.length) return h("p.quiet", {}, "This batch has no columns: nothing was scored.");
  const names = new Set(track.columns.map((each) => each.name));
  const ordered = nested(track.columns, names);
  const weighed = ordered.some(
    ({ each, of }) =>
      of &&
      formulas[root(each.name, formulas)]?.weights[each.name.slice(root(each.name, formulas).length + 1)] !== undefined,
  );
  return h(
    "div.scroll",
    {},
    h(
      "table.scores",
      {},
      h("caption.visually-hidden", {}, "Scores"),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "score"),
          h("th.num", { scope: "col" }, "number"),
          weighed ? h("th.num", { scope: "col" }, "weight") : null,
        ),
      ),
      h(
        "tbody",
        {},
        ordered.map(({ each, of, depth }) => row(each, of, depth, formulas, weighed)),
      ),
    ),
  );
}

// parts of a formula right below it
function nested(columns, names) {
  const of = (name) => {
    for (let at = name.lastIndexOf("."); at > 0; at = name.lastIndexOf(".", at - 1))
      if (names.has(name.slice(0, at))) return name.slice(0, at);
    return null;
  };
  const out = [];
  const put = (each, depth) => {
    out.push({ each, of: of(each.name), depth });
    for (const kid of columns) if (of(kid.name) === each.name) put(kid, depth + 1);
  };
  for (const each of columns) if (of(each.name) === null) put(each, 0);
  return out;
}

function root(name, formulas) {
  return Object.keys(formulas).find((column) => name.startsWith(`${column}.`)) ?? "";
}

function row(each, of, depth, formulas, weighed) {
  const column = root(each.name, formulas);
  const weight = of ? formulas[column]?.weights[each.name.slice(column.length + 1)] : undefined;
  const formula = formulas[each.name]?.formula;
  const label = h(
    "th",
    { scope: "row", style: { "padding-left": `${depth * 14}px` } },
    of ? each.name.slice(of.length + 1) : each.name,
    each.level !== "track" && each.number !== null ? h("span.quiet", {}, ` mean of its ${each.level}s`) : null,
    formula ? h("div.formula.mono", {}, formula) : null,
  );
  const told =
    each.number !== null
      ? value(each)
      : each.wide
        ? h("span.mono", {}, each.wide.map((v) => number(v)).join("  "))
        : h("span", { class: TONES[each.reason] ?? "quiet" }, each.reason);
  const rows = [
    h(
      "tr",
      {},
      label,
      h("td.num", {}, told),
      weighed
        ? h(
            "td.num.quiet",
            {},
            weight === undefined || weight === null
              ? ""
              : typeof weight === "number"
                ? `× ${Number(weight.toPrecision(6))}`
                : weight,
          )
        : null,
    ),
  ];
  const more = detail(each);
  if (more)
    rows.push(
      h("tr.detail", {}, h("td", { colspan: weighed ? 3 : 2, style: { "padding-left": `${depth * 14}px` } }, more)),
    );
  return rows;
}

function value(each) {
  if (isVerdict(each)) return h("span", { class: each.number ? "good" : "bad" }, each.number ? "right" : "wrong");
  return typeof each.number === "string"
    ? each.number
    : each.name.includes("advantage")
      ? signed(each.number)
      : number(each.number);
}

function detail(each) {
  const parts = [];
  if (each.error)
    parts.push(
      each.error.whole.includes("\n")
        ? h("details", {}, h("summary.bad", {}, each.error.line), h("pre", {}, each.error.whole))
        : h("span.bad", {}, each.error.line),
    );
  const rest = each.detail;
  if (rest !== undefined && rest !== null) {
    const plain =
      typeof rest === "string"
        ? rest
        : Object.keys(rest).length === 1 && typeof rest.why === "string"
          ? rest.why
          : null;
    parts.push(
      plain !== null
        ? h("div.why", {}, plain)
        : h(
            "details",
            {},
            h("summary", {}, typeof rest.why === "string" ? rest.why : "what it says"),
            h("pre", {}, JSON.stringify(rest, null, 1)),
          ),
    );
  }
  return parts.length ? parts : null;
}
