// A run's curves as they grow: the headline's first, then the metrics by section.

import { h, put } from "/page/dom.js";
import { number, plural } from "/page/numbers.js";
import { X_WORDS, curveSection, fittingGroups, keepInOrder, wantedNow, wantedWords } from "/page/runs/curve_parts.js";
import { examPlaces, headlineMeasure } from "/page/runs/run_exams.js";
import { capital } from "/page/runs/run_words.js";

const TONES = { reward: 0, policy: 4, play: 2, other: 7, kind: 1 };
const FLAT = { zero: "0 in every step", rounding: "0 but for rounding", constant: "the same in every step" };

// `now` holds the latest answers: {one, curves}. Names of curves that are unfolded or searched for go into `also`, and are asked for
// by `ask`. Cards are made by `chartOf`; `toRollouts` opens a step. Gives {element, draw()}.
export function runCurves({ now, wish, also, ask, chartOf, toRollouts }) {
  const element = h("div", {}),
    sections = new Map();

  function draw() {
    const { curves } = now;
    const words = wantedWords(wish);
    const groups = fittingGroups(curves.sections, words, curves.first);
    const wanted = groups.map((group) => {
      const folded = ["other", "kind"].includes(group.tone) && !words.length;
      const list = sectionOf(group, folded);
      const there = wantedNow(list, group.names, curves.curves, also, ask);
      const shown = there.filter((name) => words.length || !curves.curves[name].flat);
      const flat = words.length ? [] : there.filter((name) => curves.curves[name].flat);
      if (list.element.open)
        keepInOrder(
          list.grid,
          shown.map((name) => chartOf(`curve ${name}`, metricSpec(name, group.tone))),
        );
      put(
        list.flat,
        flat.length
          ? [
              "Not drawn: ",
              flat.map((name, n) => [
                n ? ", " : "",
                h("code", {}, curves.curves[name].title),
                ` ${FLAT[curves.curves[name].flat]}`,
                curves.curves[name].flat === "constant"
                  ? ` (${number(curves.curves[name].value.find((v) => v !== null))})`
                  : "",
              ]),
              ".",
            ]
          : null,
      );
      return list.element;
    });
    const first = headlineSpec();
    if (first && !words.length) wanted.unshift(chartOf("headline", first));
    if (!wanted.length)
      wanted.push(
        h(
          "p.quiet",
          {},
          words.length ? "No metric is called that." : "No step is done yet; curves appear with the first.",
        ),
      );
    keepInOrder(element, wanted);
  }

  function sectionOf(group, folded) {
    if (!sections.has(group.tone)) sections.set(group.tone, curveSection(group.title, group.lead, !folded, draw));
    const made = sections.get(group.tone);
    put(made.count, ` ${plural(group.names.length, "metric")}`);
    if (wish.metric) made.element.open = true;
    return made;
  }

  function metricSpec(name, tone) {
    const { curves } = now;
    return spec(curves.curves[name], name, tone, wish, now.one.marks, curves.stored.length ? toRollouts : undefined);
  }

  // the headline over the steps: a line on the problems trained on, dots for exams
  function headlineSpec() {
    const { one, curves } = now,
      measure = headlineMeasure(one),
      curve = curves.curves[curves.first];
    if (!measure && !curve) return null;
    const series = [];
    if (curve)
      series.push({ ...metricSpec(curves.first, "reward").series[0], name: "trained on", low: null, high: null });
    if (measure)
      series.push({
        name: "held out",
        hue: 1,
        dots: true,
        x: examPlaces(one.exams, wish.x),
        y: measure.points.map((p) => p[0]),
        low: measure.points.map((p) => p[1]),
        high: measure.points.map((p) => p[2]),
      });
    const words = one.run.headline?.words ?? curve?.title ?? "";
    return {
      ...(curve ? metricSpec(curves.first, "reward") : { xWords: X_WORDS[wish.x] }),
      label: words,
      words: capital(words),
      quiet: curve ? "line: the problems trained on; dots: held-out, 95 %" : "",
      latest: "",
      series,
      share: one.run.headline?.is_share,
      whole: one.run.headline?.is_share,
      log: false,
      height: 210,
    };
  }

  return { element, draw };
}

// how the chart of a metric is drawn; `marks` are the steps of alarms
function spec(curve, name, tone, wish, marks, open) {
  const soft = curve.smooth;
  const own = curve.title !== name ? name : "";
  const last = curve.value.findLastIndex((v) => v !== null);
  const latest =
    last < 0
      ? ""
      : `${number(curve.value[last])}${curve.low ? ` (${number(curve.low[last])} to ${number(curve.high[last])})` : ""}`;
  const line = {
    name: curve.title,
    hue: TONES[tone],
    x: soft?.x ?? curve.x,
    y: soft?.value ?? curve.value,
    step: soft?.step ?? curve.step,
    faint: soft ? { x: curve.x, y: curve.value } : null,
    low: soft ? null : curve.low,
    high: soft ? null : curve.high,
  };
  return {
    label: curve.title,
    quiet: own,
    latest,
    series: [line],
    log: wish.log,
    xWords: X_WORDS[wish.x],
    whole_x: wish.x === "steps",
    marks: marks.map((step) => curve.x[curve.step.indexOf(step)]).filter((x) => x !== undefined),
    open,
  };
}
