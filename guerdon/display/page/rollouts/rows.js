// The list of rollouts: a row each, as many columns as one wants.

import { h } from "/page/dom.js";
import { number, signed } from "/page/numbers.js";
import { shortName } from "/page/rollouts/state.js";

export const USUAL = ["step", "kind", "reward", "truth", "correct", "advantage", "length", "end"];
const NUMBERS = new Set(["step", "level", "attempt", "segment", "length", "paid"]);

// The columns that are shown: those chosen, or the usual ones that the runs have.
export function columnsOf(asked, runs) {
  const there = new Set(runs.flatMap((run) => [...run.columns, ...run.plain]));
  const chosen = asked.all("show");
  const wanted = (chosen.length ? chosen : USUAL).filter((name) => there.has(name));
  return runs.length > 1 && !chosen.length ? ["run", ...wanted] : wanted;
}

export function head(columns, asked, sorted, isNumber) {
  const [by, down] = [
    asked.one("sort").replace(/^-/, "") || "step",
    !asked.one("sort") || asked.one("sort").startsWith("-"),
  ];
  return h(
    "tr",
    {},
    columns.map((name) =>
      h(
        "th",
        {
          scope: "col",
          class: `of-${USUAL.indexOf(name) < 0 ? "other" : name}${isNumber(name) ? " num" : ""}`,
          aria: { sort: name === by ? (down ? "descending" : "ascending") : null },
        },
        name === "run"
          ? "run"
          : h(
              "button",
              {
                type: "button",
                data: { sort: name },
                title: `Sort by ${name}`,
                onclick: () => sorted(name === by && down ? name : `-${name}`),
              },
              name,
              name === by ? (down ? " ↓" : " ↑") : "",
            ),
      ),
    ),
    h("th", { scope: "col" }, "what it says"),
  );
}

export function isNumber(name, row) {
  return NUMBERS.has(name) || (row ? name in row.values : false);
}

export function rowOf(row, columns, runs, scale) {
  const advantage = typeof row.values.advantage === "number" ? row.values.advantage : 0;
  const sign = advantage > 0 ? "up" : advantage < 0 ? "down" : "";
  const strength = Math.min(1, Math.abs(advantage) / (scale || 1));
  return h(
    "tr",
    { class: `${sign} ${row.learned ? "" : "left-out"}`, style: { "--strength": (0.06 + 0.3 * strength).toFixed(3) } },
    columns.map((name) => {
      const made = cell(row, name, runs, scale);
      if (USUAL.includes(name)) made.classList.add(`of-${name}`);
      return made;
    }),
    h(
      "td.says",
      {},
      row.of === "prompt" ? h("span.quiet", {}, "prompt: ") : null,
      row.line.map(([text, is]) => (is ? h("mark", {}, text) : text)),
      row.line.length === 1 && !row.line[0][0]
        ? h("span.quiet", {}, row.segment < 0 ? "failed before the first action" : "no output")
        : null,
    ),
  );
}

function cell(row, name, runs, scale) {
  if (name === "run") {
    const at = runs.findIndex((run) => run.id === row.run);
    return h(
      "td",
      {},
      h("span.run", { class: `hue-${at % 8}`, title: runs[at]?.name }, shortName(runs[at]?.name ?? "")),
    );
  }
  if (name in row.values || name in row.reasons) {
    const given = row.values[name],
      value = typeof given === "number" && name === "advantage" && Math.abs(given) < 1e-6 * scale ? 0 : given; // what rounding left
    if (value === null)
      return h(
        "td.num.missing",
        {
          title: row.reasons[name]
            ? `no ${name}: ${row.reasons[name]}`
            : `no ${name} here: what is given to a whole track stands with its last segment`,
        },
        row.reasons[name] ?? "–",
      );
    if (typeof value === "string") return h("td.num", {}, value.replace("inf", "∞").replace("-", "−"));
    if (name === "correct")
      return h(
        "td.num",
        { class: value === 1 ? "good" : value === 0 ? "bad" : "" },
        value === 1 ? "✓" : value === 0 ? "✗" : number(value, 2),
      );
    return h(
      "td.num",
      { class: name === "advantage" ? "advantage" : "" },
      name === "advantage" ? signed(value, scale >= 1 ? 2 : scale >= 0.1 ? 3 : 4) : number(value, 3),
    );
  }
  if (!(name in row)) return h("td.num.quiet", { title: `this step has no ${name}` }, "–");
  const value = row[name];
  if (name === "end")
    return h("td", { class: value === "failed" ? "bad" : value === "cut" ? "wait" : "quiet" }, value ?? "–");
  if (name === "learned") return h("td", {}, value ? "yes" : "left out");
  return NUMBERS.has(name) ? h("td.num", {}, number(value)) : h("td.text", {}, value ?? "");
}
