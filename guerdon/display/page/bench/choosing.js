// What is on the bench: a run and one of its samples, or a problem of a task; and the reward.

import { address } from "/page/asking.js";
import { h, put } from "/page/dom.js";
import { number } from "/page/numbers.js";

// `does` holds what may be done: useReward(named), turnToStep(step), pick(sample), chooseProblem(task, number).
export function showChoices(place, state, around, does) {
  const { guard } = around;
  const runs = h(
    "select",
    {
      onchange: guard(async (event) => {
        const { value } = event.target;
        around.go(value ? address("/bench", { run: value, reward: state.reward }) : `/bench?run=&${new URLSearchParams({ reward: state.reward })}`);
      }),
    },
    h("option", { value: "" }, "none"),
    state.runs.map((each) => h("option", { value: each.id, selected: each.id === state.run }, each.name)),
  );
  const named = h("input", {
    type: "text",
    value: state.reward,
    size: 26,
    spellcheck: "false",
    autocomplete: "off",
    placeholder: state.run ? (state.own ?? "the run's own") : "FILE.py:NAME, or exact",
  });
  named.addEventListener(
    "change",
    guard(() => does.useReward(named.value.trim())),
  );
  const steps = state.steps.length
    ? h(
        "label",
        {},
        "step",
        h(
          "select",
          { onchange: guard((event) => does.turnToStep(event.target.value)) },
          state.steps.map((each) => h("option", { value: each, selected: String(each) === state.step }, each)),
        ),
      )
    : null;
  const isOurs = (each) =>
    Boolean(state.sample) && each.episode === state.sample.place.episode && each.segment === state.sample.place.segment;
  const pick = state.samples.length
    ? h(
        "label.bench-pick",
        {},
        "sample",
        h(
          "select.bench-sample",
          {
            onchange: guard(async (event) => {
              if (event.target.value !== "") await does.pick(state.samples[Number(event.target.value)]);
            }),
          },
          state.samples.some(isOurs)
            ? null
            : h("option", { value: "", selected: true }, state.sample ? state.sample.place.episode : "none"),
          state.samples.map((each, n) =>
            h(
              "option",
              { value: n, selected: isOurs(each) },
              `${each.episode}  ${number(each.reward, 2)}  ${short(each.completion)}`,
            ),
          ),
        ),
      )
    : null;
  put(
    place,
    h("label", {}, "run", runs),
    h("label", {}, "reward", named),
    steps,
    pick,
    state.run ? null : problemInputs(state, around, does.chooseProblem),
  );
}

// Without a run, texts may be tries at a problem of a task.
function problemInputs(state, around, chooseProblem) {
  const task = h("input", {
    type: "text",
    value: state.task,
    size: 14,
    spellcheck: "false",
    autocomplete: "off",
    placeholder: "countdown:3",
  });
  const which = h("input.bench-number", { type: "number", min: 0, step: 1, value: state.number });
  const chosen = around.guard(() =>
    chooseProblem(task.value.trim(), Math.max(0, Math.floor(Number(which.value)) || 0)),
  );
  for (const each of [task, which]) each.addEventListener("change", chosen);
  return [h("label", {}, "task", task), h("label", {}, "problem", which)];
}

function short(text) {
  const first = text.replace(/\s+/g, " ").trim();
  return first.length > 40 ? `${first.slice(0, 40)}…` : first;
}
