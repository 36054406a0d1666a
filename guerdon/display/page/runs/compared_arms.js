// What is compared: a row an arm (a run, or several that differ in the seed alone), with its line's key.

import { inFile } from "/page/asking.js";
import { h } from "/page/dom.js";
import { count, plural, seconds } from "/page/numbers.js";
import { lineKey } from "/page/runs/curve_parts.js";

// the look of the n-th arm's line
export function armStyle(n) {
  return { hue: n % 8, dash: n % 4 };
}

// `toggle(letter)` shows or hides an arm, `drop(arm)` leaves it out, `toggleApart()` takes seeds pooled or separate.
export function armTable(arms, wish, { toggle, drop, toggleApart }) {
  return [
    h(
      "table.legend",
      { aria: { label: "What is compared" } },
      h(
        "tbody",
        {},
        arms.map((arm, n) => {
          const { hue, dash } = armStyle(n);
          return h(
            "tr",
            { class: wish.hide.has(arm.letter) ? "hidden-arm" : "" },
            h(
              "td",
              {},
              h(
                "button.plain",
                {
                  type: "button",
                  data: { key: `arm ${arm.letter}` },
                  aria: { pressed: String(!wish.hide.has(arm.letter)), label: `Show ${arm.letter}` },
                  onclick: () => toggle(arm.letter),
                  title: "Show or hide it",
                },
                lineKey(hue, dash),
                h("b", {}, ` ${arm.letter}`),
              ),
            ),
            h(
              "td",
              {},
              arm.runs.map((run, i) => [i ? ", " : "", h("a", { href: inFile() ? null : `/run/${run.id}` }, run.name)]),
              arm.runs.length > 1
                ? h("span.quiet", {}, ` ${plural(arm.runs.length, "seed")}`)
                : h("span.quiet", {}, ` seed ${arm.runs[0].seed}`),
            ),
            h("td.quiet", {}, `${arm.recipe}, ${arm.task}`),
            h("td.quiet", {}, `${count(arm.spent.tokens)} tokens, ${seconds(arm.spent.seconds)}`),
            h(
              "td",
              {},
              inFile()
                ? null
                : h(
                    "button.plain.small",
                    {
                      type: "button",
                      data: { key: `drop ${arm.letter}` },
                      aria: { label: `Leave out ${arm.letter}` },
                      onclick: () => drop(arm),
                    },
                    "leave out",
                  ),
            ),
          );
        }),
      ),
    ),
    h(
      "div.toolbar",
      {},
      inFile()
        ? null
        : h(
            "button",
            {
              type: "button",
              data: { key: "apart" },
              aria: { pressed: String(wish.apart) },
              onclick: toggleApart,
            },
            "each seed by itself",
          ),
      h(
        "span.quiet",
        {},
        wish.apart
          ? ""
          : "Runs that differ in the seed alone are one line: their mean, with a band from the lowest to the highest of them.",
      ),
    ),
  ];
}
