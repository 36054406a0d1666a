// The texts that are scored and the fields that come with them: prompt, answer and what else the reward wants.

import { address } from "/page/asking.js";
import { MOST_TEXTS } from "/page/bench/state.js";
import { LETTERS } from "/page/bench/words.js";
import { h, put } from "/page/dom.js";
import { count, number } from "/page/numbers.js";

// `does` holds what may be done: typed, score, add, drop, allTries, scoreAsTyped.
export function showInputs(place, state, does) {
  const field = (name, label, rows, optional = false) => {
    const input = h(rows > 1 ? "textarea" : "input", {
      rows: rows > 1 ? rows : null,
      spellcheck: "false",
      oninput: (event) => {
        state.fields[name] = event.target.value;
        does.typed();
      },
    });
    input.value = state.fields[name] ?? "";
    return h(
      "label.bench-field",
      {},
      h("span", {}, label, optional ? h("span.quiet", {}, " (may be empty)") : null),
      input,
    );
  };
  const wants = (state.about?.wants ?? []).map(({ name, optional }) => {
    if (state.fields.meta !== undefined && state.fields[name] === undefined) return null; // it stands in there
    if (state.fields[name] === undefined) {
      const there = state.sample?.meta?.[name] ?? (name === "level" ? state.sample?.level : undefined);
      state.fields[name] = there === undefined ? "" : JSON.stringify(there);
    }
    return field(name, name, 1, optional);
  });
  const meta =
    state.fields.meta !== undefined
      ? field("meta", "what else the task holds, as JSON", 2)
      : state.about?.takes_meta && state.sample?.meta
        ? [
            h(
              "details.bench-meta",
              {},
              h("summary", {}, "what else the task holds"),
              h("pre", {}, JSON.stringify(state.sample.meta, null, 1)),
            ),
          ]
        : [];
  const texts = state.rows.map((row, n) => {
    const input = h("textarea.bench-text", {
      rows: Math.min(14, Math.max(4, row.completion.split("\n").length + 1)),
      spellcheck: "false",
      aria: { label: `Text ${LETTERS[n]}` },
      oninput: (event) => {
        row.completion = event.target.value;
        does.typed();
      },
    });
    input.value = row.completion;
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        does.score();
      }
    });
    const from = row.origin
      ? h(
          "a.quiet",
          {
            href: address(`/rollout/${state.run}/${row.origin.step}/${encodeURIComponent(row.origin.episode)}`, {
              segment: row.origin.segment || "",
            }),
          },
          row.origin.episode,
        )
      : h("span.quiet", {}, "typed");
    return h(
      "div.bench-row",
      {},
      h(
        "div.bench-row-head",
        {},
        h("strong.bench-letter", {}, LETTERS[n]),
        from,
        h("span.bench-whole", { data: { row: n } }),
        state.rows.length > 1
          ? h(
              "button.plain",
              { type: "button", aria: { label: `Remove text ${LETTERS[n]}` }, onclick: () => does.drop(n) },
              "×",
            )
          : null,
      ),
      input,
    );
  });
  const more = h(
    "div.toolbar",
    {},
    h(
      "button",
      { type: "button", onclick: () => does.add(), disabled: state.rows.length >= MOST_TEXTS },
      "add a variant ",
      h("kbd", { aria: { hidden: "true" } }, "a"),
    ),
    state.sample?.tries?.length > 1
      ? h(
          "button",
          { type: "button", onclick: does.allTries },
          `all ${count(Math.min(MOST_TEXTS, state.sample.tries.length))} texts of this group`,
        )
      : null,
    state.about && !state.live ? h("button.main", { type: "button", onclick: () => does.score() }, "Score") : null,
    state.about
      ? h(
          "label",
          {},
          h("input", {
            type: "checkbox",
            checked: state.live,
            onchange: (event) => does.scoreAsTyped(event.target.checked),
          }),
          "score as I type",
        )
      : null,
  );
  put(place, field("prompt", "prompt", 3), field("answer", "answer", 1), wants, meta, texts, more);
  showWholes(place, state);
}

// What each text gets in all, and its rank among them.
export function showWholes(place, state) {
  const values = (state.scored?.rows ?? []).map((row) => row[""].value);
  const ranked = values.filter((v) => v !== null).sort((a, b) => b - a);
  for (const spot of place.querySelectorAll(".bench-whole")) {
    const n = Number(spot.dataset.row);
    const told = state.scored?.rows[n]?.[""];
    if (!told) {
      put(spot);
      continue;
    }
    const rank =
      state.rows.length > 1 && told.value !== null
        ? h("span.quiet", {}, ` rank ${ranked.indexOf(told.value) + 1} of ${values.length}`)
        : null;
    put(spot, told.value === null ? h("span.bad", {}, told.reason) : h("strong", {}, number(told.value, 4)), rank);
  }
}
