// A run's exams: a table of evaluations, and a chart of each number.

import { h } from "/page/dom.js";
import { count, number, percent } from "/page/numbers.js";
import { X_WORDS, keepInOrder } from "/page/runs/curve_parts.js";

// the headline's number among the exams', where it is one
export function headlineMeasure(one) {
  return one.run.headline?.source === "exam"
    ? (one.exams?.measures.find((each) => each.words === one.run.headline.words) ?? null)
    : null;
}

// where the evaluations lie on the axis
export function examPlaces(exams, x) {
  return x === "steps" ? exams.steps_done : exams.spent.map((spent) => spent[x]);
}

export function examTable(exams) {
  const said = ({ is_share }, [v, low, high]) =>
    v === null
      ? "–"
      : [
          is_share ? percent(v) : number(v),
          low === null || high === null
            ? null
            : h(
                "span.quiet",
                {},
                is_share
                  ? ` ${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)}`
                  : ` ${number(low)} to ${number(high)}`,
              ),
        ];
  return [
    h("h2", {}, "Exams"),
    h(
      "p.quiet",
      {},
      Object.entries(exams.counts)
        .filter(([, v]) => v)
        .map(([name, v]) => `${name} ${typeof v === "number" ? number(v) : v}`)
        .join(", "),
    ),
    h(
      "div.scroll",
      { tabindex: "0", aria: { label: "Exams" } },
      h(
        "table",
        { aria: { label: "Exams: a row an evaluation, 95 % intervals beside the numbers" } },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th.num", { scope: "col" }, "after steps"),
            exams.measures.map((each) =>
              h(
                "th.num",
                { scope: "col" },
                each.words && each.words !== each.name ? `${each.name}, ${each.words}` : each.name,
              ),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          exams.steps_done.map((done, n) =>
            h(
              "tr",
              {},
              h("td.num", {}, count(done)),
              exams.measures.map((each) => h("td.num", {}, said(each, each.points[n]))),
            ),
          ),
        ),
      ),
    ),
    h("div.grid", { data: { charts: "" } }),
  ];
}

// The charts below the table, once there are two evaluations.
export function drawExamCharts(place, one, wish, chartOf) {
  const room = place.querySelector("[data-charts]");
  if (!room || one.exams.steps_done.length < 2) return;
  const places = examPlaces(one.exams, wish.x),
    headline = headlineMeasure(one);
  keepInOrder(
    room,
    one.exams.measures
      .filter((each) => each !== headline)
      .map((each) =>
        chartOf(`exam ${each.name}`, {
          label: each.name,
          quiet: each.words && each.words !== each.name ? each.words : "",
          share: each.is_share,
          xWords: X_WORDS[wish.x],
          whole_x: wish.x === "steps",
          series: [
            {
              name: each.name,
              hue: 1,
              x: places,
              y: each.points.map((p) => p[0]),
              low: each.points.some((p) => p[1] !== null) ? each.points.map((p) => p[1]) : null,
              high: each.points.map((p) => p[2]),
            },
          ],
        }),
      ),
  );
}
