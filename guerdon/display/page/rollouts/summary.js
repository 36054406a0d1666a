// What is said above the list: how many rollouts, of which runs, through which filters, and what is still being read.

import { h } from "/page/dom.js";
import { count, number, plural } from "/page/numbers.js";
import { shortName } from "/page/rollouts/state.js";

const WORDS = { text: "says", where: "", reason: "no number:", learned: "learned from", ask: "group", label: "label" };

export function summaryWords({ total, all, steps, mean_reward: mean }, isDone) {
  const many = total === all ? plural(all, "rollout") : `${count(total)} of ${plural(all, "rollout")}`;
  const parts = [
    `${many}${isDone ? "" : " so far"}`,
    steps && (steps[0] === steps[1] ? `step ${count(steps[0])}` : `steps ${count(steps[0])} to ${count(steps[1])}`),
    mean !== null && `mean reward ${number(mean)}`,
  ];
  return parts.filter(Boolean).join(", ");
}

export function filesRead(runs) {
  const [files, of] = ["files", "of"].map((name) => runs.reduce((sum, run) => sum + run.indexed[name], 0));
  return [
    h("progress", { max: of, value: files, aria: { label: "Files that are read" } }),
    h("span.quiet", {}, `${count(files)} of ${plural(of, "file")} read, newest first`),
  ];
}

export function damagedFiles(runs) {
  const damaged = runs.reduce((sum, run) => sum + run.damaged, 0);
  return damaged
    ? h(
        "details",
        {},
        h("summary.bad", {}, `${plural(damaged, "file")} could not be read`),
        h(
          "ul",
          {},
          runs.flatMap((run) => run.faults).map((fault) => h("li", {}, fault)),
        ),
      )
    : null;
}

export function runChips(runs, leaveOut) {
  return [
    runs.map((run, n) =>
      h(
        "span.chip",
        { class: runs.length > 1 ? `hue-${n % 8}` : "" },
        h("a", { href: `/run/${run.id}`, title: run.name }, shortName(run.name)),
        runs.length > 1
          ? h(
              "button.plain",
              {
                type: "button",
                aria: { label: `Leave out ${run.name}` },
                onclick: () => leaveOut(run.id),
              },
              "×",
            )
          : null,
      ),
    ),
    h("a.quiet", { href: "/rollouts?run=" }, "other runs"),
  ];
}

export function filterChips(filters, drop, dropAll) {
  return [
    filters.map(([name, value]) =>
      h(
        "span.chip",
        {},
        filterWords(name, value),
        h(
          "button.plain",
          {
            type: "button",
            aria: { label: `Drop the filter ${name} ${value}` },
            onclick: () => drop(name, value),
          },
          "×",
        ),
      ),
    ),
    filters.length > 1 ? h("button.plain.small", { type: "button", onclick: dropAll }, "Drop all") : null,
  ];
}

function filterWords(name, value) {
  return `${WORDS[name] ?? name} ${name === "where" ? value.replace(/:([^:]*)$/, " $1").replace("..", " to ") : value}`.trim();
}
