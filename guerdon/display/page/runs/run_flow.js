// How a run works: a box for each part of a step, in order, with what it needs and gives.

import { h } from "/page/dom.js";
import { plural } from "/page/numbers.js";

const ROLES = {
  draw: "draw tasks",
  play: "play",
  score: "score",
  credit: "give credit",
  learn: "learn",
  stage: "stage",
  examine: "examine",
};

export function stepFlow(boxes, fold) {
  if (!boxes.length) return null;
  return [
    h("h2", {}, "Every step"),
    h(
      "ol.flow",
      { aria: { label: "What happens at every step, in order" } },
      boxes.map((box, n) =>
        h(
          "li.box",
          { class: box.role },
          h("div.role", {}, ROLES[box.role] ?? box.role),
          h("div.part", {}, box.part),
          box.about ? h("div.quiet.of", {}, box.about) : null,
          box.needs.length
            ? h(
                "div.cols",
                {},
                h("span.quiet", {}, "needs "),
                box.needs.map((name) => h("code", {}, name)),
              )
            : null,
          box.gives.length
            ? h(
                "div.cols",
                {},
                h("span.quiet", {}, "gives "),
                box.gives.map((name) => h("code.gives", {}, name)),
              )
            : null,
          Object.keys(box.knobs).length
            ? fold(
                `knobs ${n} ${box.part}`,
                plural(Object.keys(box.knobs).length, "knob"),
                h(
                  "dl.pairs.knobs",
                  {},
                  Object.entries(box.knobs).map(([name, said]) => [h("dt", {}, name), h("dd", {}, said || "–")]),
                ),
              )
            : null,
        ),
      ),
    ),
  ];
}
