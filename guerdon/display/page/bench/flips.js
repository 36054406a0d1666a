// Whom these weights would flip: the stored samples of a step whose advantage changes sides.

import { address } from "/page/asking.js";
import { took } from "/page/bench/words.js";
import { h, put } from "/page/dom.js";
import { count, number, percent, plural, signed } from "/page/numbers.js";

// `replay` asks how the stored step fares; what it is told is `state.replayed`.
export function showFlips(place, state, around, replay) {
  if (!state.run || !state.steps.length || !state.about) {
    put(place);
    return;
  }
  const head = h("h2", {}, `Step ${state.step} under these weights`);
  if (!state.replayed || String(state.replayed.step) !== state.step) {
    put(
      place,
      head,
      h(
        "p.quiet",
        {},
        "Which of the stored samples would have been pushed the other way? Every part is asked once about each of them; after that, weights answer at once.",
      ),
      h(
        "button.main",
        {
          type: "button",
          onclick: around.guard(async (event) => {
            event.target.disabled = true;
            put(event.target, "asking …");
            await replay();
          }),
        },
        `Hold step ${state.step} against it `,
        h("kbd", { aria: { hidden: "true" } }, "s"),
      ),
    );
    return;
  }
  const { total, samples, there, notes, other, credit, credit_from: from, column } = state.replayed;
  const stat = (words, said, tone = "") =>
    h("div.bench-stat", {}, h(`strong${tone}`, {}, said), h("span.quiet", {}, words));
  const table = samples.length
    ? h(
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
              ["what", "sample", "reward", "advantage", "first line"].map((words, n) =>
                h(n === 2 || n === 3 ? "th.num" : "th", { scope: "col" }, words),
              ),
            ),
          ),
          h(
            "tbody",
            {},
            samples.slice(0, 100).map((each) =>
              h(
                "tr",
                {},
                h("td", {}, each.kind === "flip" ? h("span.chip.bad", {}, "flips") : h("span.chip", {}, each.kind)),
                h(
                  "td",
                  {},
                  h(
                    "a",
                    {
                      href: address(
                        `/rollout/${state.run}/${state.replayed.step}/${encodeURIComponent(each.episode)}`,
                        { segment: each.segment || "" },
                      ),
                    },
                    each.episode,
                  ),
                ),
                h("td.num", {}, `${number(each.old_reward)} → ${number(each.new_reward)}`),
                h("td.num", {}, `${signed(each.old_advantage, 2)} → ${signed(each.new_advantage, 2)}`),
                h("td.bench-first", {}, each.completion),
              ),
            ),
          ),
        ),
      )
    : h("p.quiet", {}, "Every advantage keeps its sign.");
  put(
    place,
    head,
    h(
      "div.bench-stats",
      { role: "status" },
      stat(`of ${count(total.compared)} change sides`, count(total.flips), total.flips ? ".bad" : ""),
      stat("from zero", count(total.zero_to_nonzero)),
      stat("to zero", count(total.nonzero_to_zero)),
      stat("correlation of rewards", number(total.pearson)),
      stat("of their ranks", number(total.spearman)),
      stat("mean reward", `${number(total.old_mean)} → ${number(total.new_mean)}`),
    ),
    total.failed + total.timed_out
      ? h(
          "p.bad",
          {},
          `${plural(total.failed + total.timed_out, "sample")} got no score (${percent((total.failed + total.timed_out) / total.samples)})`,
        )
      : null,
    [
      ...notes,
      other
        ? `this credit gives ${plural(other, "sample")} another advantage than the stored one under the old reward`
        : "",
    ]
      .filter(Boolean)
      .map((note) => h("p.wait", {}, note)),
    table,
    there > 100 ? h("p.quiet", {}, `and ${count(there - 100)} more`) : null,
    h("p.quiet.bench-time", {}, `${column} by ${credit}, ${from} · ${took(state.replayed.seconds)}`),
  );
}
