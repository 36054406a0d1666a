// Curves of compared runs over each other: the held-out number first, then the metrics by section.

import { h, put } from "/page/dom.js";
import { number, plural } from "/page/numbers.js";
import { armStyle } from "/page/runs/compared_arms.js";
import { X_WORDS, curveSection, fittingGroups, keepInOrder, wantedNow, wantedWords } from "/page/runs/curve_parts.js";
import { keptCharts } from "/page/runs/kept_parts.js";
import { capital } from "/page/runs/run_words.js";

// `now.said` is the latest answer. Names of curves that are unfolded or searched for go into `also`, and are asked for by `ask`.
// Gives {element, draw()}.
export function comparedCurves({ now, wish, also, ask }) {
  const element = h("div", {}),
    sections = new Map(),
    kept = keptCharts();

  function draw() {
    const { said } = now;
    const words = wantedWords(wish);
    const wanted = [];
    if (said.metric && !words.length && Object.values(said.held_out).some((one) => one)) {
      wanted.push(
        chartOf("held out", {
          label: `${capital(said.metric_words)}, held out`,
          series: lines(said.arms, said.held_out, wish.hide, true),
          share: said.is_share,
          whole: said.is_share,
          height: 210,
        }),
      );
    }
    for (const group of fittingGroups(said.sections, words)) {
      const one = sectionOf(group, ["other", "kind"].includes(group.tone) && !words.length);
      put(one.count, ` ${plural(group.names.length, "metric")}`);
      if (words.length) one.element.open = true;
      const names = wantedNow(one, group.names, said.curves, also, ask);
      const drawn = names.filter((name) => varies(said.curves[name]));
      const still = names.filter((name) => !varies(said.curves[name]));
      keepInOrder(
        one.grid,
        drawn.map((name) => {
          const { title, series } = said.curves[name];
          return chartOf(`curve ${name}`, {
            label: title,
            quiet: title === name ? "" : name,
            series: lines(said.arms, series, wish.hide),
            log: wish.log,
          });
        }),
      );
      put(
        one.flat,
        still.length
          ? [
              "The same number throughout: ",
              still.map((name, n) => [
                n ? ", " : "",
                h("code", {}, said.curves[name].title),
                said.curves[name].noise ? " 0 but for rounding" : ` ${number(only(said.curves[name].series))}`,
              ]),
            ]
          : null,
      );
      wanted.push(one.element);
    }
    if (!wanted.length)
      wanted.push(h("p.quiet", {}, words.length ? "No metric is called that." : "No step is done yet."));
    keepInOrder(element, wanted);
  }

  function chartOf(name, next) {
    return kept(name, { xWords: X_WORDS[wish.x], whole_x: wish.x === "steps", latest: "", ...next });
  }

  function sectionOf(group, folded) {
    if (!sections.has(group.tone)) sections.set(group.tone, curveSection(group.title, "", !folded, draw));
    return sections.get(group.tone);
  }

  return { element, draw };
}

// a line an arm that has this series
function lines(arms, bySeries, hide, dots = false) {
  return arms
    .map((arm, n) => [arm, n, bySeries[arm.letter]])
    .filter(([, , one]) => one)
    .map(([arm, n, one]) => ({
      name: one.seeds > 1 ? `${arm.letter} (mean of ${one.seeds} seeds)` : arm.letter,
      ...armStyle(n),
      dots: dots && one.x.length < 2,
      hidden: hide.has(arm.letter),
      x: one.smooth?.x ?? one.x,
      y: one.smooth?.value ?? one.value,
      low: one.smooth ? null : one.low,
      high: one.smooth ? null : one.high,
      faint: one.smooth ? { x: one.x, y: one.value } : null,
    }));
}

function varies({ series, noise }) {
  return !noise && new Set(Object.values(series).flatMap((one) => one.value.filter((v) => v !== null))).size > 1;
}

function only(series) {
  return Object.values(series)
    .flatMap((one) => one.value)
    .find((v) => v !== null);
}
