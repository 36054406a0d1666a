// Several runs over each other: curves, what was done differently, exams with how far they lie apart.

import { address, get } from "/page/asking.js";
import { lineChart } from "/page/charts/line_chart.js";
import { h, put, tell } from "/page/dom.js";
import { layer } from "/page/keys.js";
import { count, number, plural, seconds } from "/page/numbers.js";
import {
  X_WORDS,
  curveSection,
  curveTools,
  fittingGroups,
  keepInOrder,
  lineKey,
  readWish,
  wantedNow,
  wantedWords,
  wishInAddress,
} from "/page/runs/curve_parts.js";
import { again, capital, minus } from "/page/runs/run_words.js";

const FEW = 12; // settings that are shown unfolded

export async function show(place, around) {
  around.title("Compare");
  const { query } = around;
  const wish = {
    ...readWish(query),
    run: query.getAll("run"),
    exam: query.get("exam") ?? "",
    apart: query.get("apart") === "1",
    hide: new Set(query.getAll("hide")),
  };
  if (wish.run.length < 2) {
    put(
      place,
      h("h1", {}, "Compare"),
      h("p.empty", {}, "Mark two runs or more in ", h("a", { href: "/" }, "the list"), " with x, and press c."),
    );
    return;
  }
  let said = null,
    also = new Set(),
    asked = 0;
  const charts = new Map(),
    sections = new Map(),
    parts = new Map(),
    apart = new Map();
  const rooms = Object.fromEntries(
    ["notes", "legend", "settings", "exams", "prompt"].map((name) => [name, h(`section.compare-${name}`, {})]),
  );
  const curves = h("div", {});
  put(place, h("p", {}, "Reading the runs…"));
  const refresh = around.guard(async () => {
    const mine = ++asked;
    const now = await get("/api/runs/compare", {
      run: wish.run,
      x: wish.x,
      smooth: wish.smooth || "",
      metric: wish.exam,
      apart: wish.apart,
      also: [...also],
    });
    if (mine !== asked || !around.here()) return; // a later question is under way
    const begins = said === null;
    said = now;
    around.fault(null);
    if (begins)
      put(
        place,
        h("h1", {}, "Compare"),
        rooms.notes,
        rooms.legend,
        h("div.compare-tops", {}, h("div", {}, rooms.exams, rooms.prompt), rooms.settings),
        h(
          "section",
          { aria: { label: "Curves" } },
          h("h2", {}, "Curves"),
          curveTools(
            wish,
            () => {
              keep();
              drawCurves();
            },
            () => {
              keep();
              refresh();
            },
          ),
          curves,
        ),
      );
    draw();
    if (begins) findPrompt();
  });
  again(around, refresh, { concerns: (ids) => wish.run.some((id) => ids.includes(id)) });
  await refresh();
  if (!said && asked === 1) {
    put(
      place,
      h("h1", {}, "Compare"),
      h("p.empty", {}, "These runs cannot be compared. ", h("a", { href: "/" }, "All runs")),
    );
    return;
  }
  around.keys(
    layer("compare")
      .on("s", "seeds together or apart", () => change({ apart: !wish.apart }))
      .on(["ArrowLeft", "ArrowRight"], "read a chart that has the focus", () => false)
      .on(["1", "2", "3", "4", "5", "6", "7", "8", "9"], "show or hide that run", (event) => {
        const arm = said.arms[Number(event.key) - 1];
        if (arm) toggle(arm.letter);
      }),
  );

  function change(changes) {
    Object.assign(wish, changes);
    keep();
    apart.clear();
    refresh();
  }
  function keep() {
    around.keepInAddress(
      address("/compare", {
        run: wish.run,
        ...wishInAddress(wish),
        exam: wish.exam,
        apart: wish.apart,
        hide: [...wish.hide],
      }),
    );
  }
  function part(name, content, make) {
    const text = JSON.stringify(content);
    if (parts.get(name) === text) return;
    parts.set(name, text);
    const key = rooms[name].contains(document.activeElement) ? document.activeElement.dataset.key : null;
    put(rooms[name], make(content));
    if (key) rooms[name].querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  }
  function style(n) {
    return { hue: n % 8, dash: n % 4 };
  }
  function key(n) {
    return lineKey(n % 8, n % 4);
  }

  function draw() {
    part("notes", said.notes, (notes) =>
      notes.length
        ? h(
            "ul.alarms",
            {},
            notes.map((note) => h("li", {}, note)),
          )
        : null,
    );
    part("legend", [said.arms, [...wish.hide], wish.apart], legend);
    part("settings", [said.settings, said.arms.map((arm) => arm.letter)], settings);
    drawExams();
    drawCurves();
  }

  function legend([arms]) {
    return [
      h(
        "table.legend",
        { aria: { label: "What is compared" } },
        h(
          "tbody",
          {},
          arms.map((arm, n) =>
            h(
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
                  key(n),
                  h("b", {}, ` ${arm.letter}`),
                ),
              ),
              h(
                "td",
                {},
                arm.runs.map((run, i) => [i ? ", " : "", h("a", { href: `/run/${run.id}` }, run.name)]),
                arm.runs.length > 1
                  ? h("span.quiet", {}, ` ${plural(arm.runs.length, "seed")}`)
                  : h("span.quiet", {}, ` seed ${arm.runs[0].seed}`),
              ),
              h("td.quiet", {}, `${arm.recipe}, ${arm.task}`),
              h("td.quiet", {}, `${count(arm.spent.tokens)} tokens, ${seconds(arm.spent.seconds)}`),
              h(
                "td",
                {},
                h(
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
            ),
          ),
        ),
      ),
      h(
        "div.toolbar",
        {},
        h(
          "button",
          {
            type: "button",
            data: { key: "apart" },
            aria: { pressed: String(wish.apart) },
            onclick: () => change({ apart: !wish.apart }),
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

  function toggle(letter) {
    wish.hide.has(letter) ? wish.hide.delete(letter) : wish.hide.add(letter);
    keep();
    tell(`${letter} ${wish.hide.has(letter) ? "hidden" : "shown"}`);
    draw();
  }
  function drop(arm) {
    const left = wish.run.filter((id) => !arm.runs.some((run) => run.id === id));
    if (left.length < 2) {
      around.fault(new Error("two runs are needed to compare"));
      return;
    }
    wish.hide.clear();
    change({ run: left });
  }

  function settings([rows, letters]) {
    const table = (some, label) =>
      h(
        "div.scroll",
        {},
        h(
          "table.settings-table",
          { aria: { label } },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col" }, "setting"),
              letters.map((letter) => h("th", { scope: "col" }, letter)),
            ),
          ),
          h(
            "tbody",
            {},
            some.map((row) =>
              h(
                "tr",
                {},
                h("th", { scope: "row" }, row.name),
                row.values.map((text) => h("td.mono.wrap", {}, text)),
              ),
            ),
          ),
        ),
      );
    const rest = rows.slice(FEW);
    return [
      h("h2", {}, "What was done differently"),
      rows.length
        ? table(rows.slice(0, FEW), "Settings that differ")
        : h("p.quiet", {}, "Nothing that their run.json tells."),
      rest.length
        ? h(
            "details",
            {},
            h("summary", {}, `${plural(rest.length, "more difference")}`),
            table(rest, "More settings that differ"),
          )
        : null,
    ];
  }

  // --- exams: the rates at once, how far arms lie apart one after the other, for that may take a while -------------------------

  function drawExams() {
    const letters = said.arms.map((arm) => arm.letter);
    part(
      "exams",
      [said.metric, said.metrics, said.arms.map((arm) => [arm.letter, arm.rates])],
      ([metric, metrics, arms]) => {
        apart.clear();
        if (!metric) return [h("h2", {}, "Exams"), h("p.quiet", {}, "These runs have no number of an exam in common.")];
        const choose = h(
          "select",
          {
            data: { key: "exam" },
            aria: { label: "Number of the exams" },
            onchange: (event) => change({ exam: event.target.value }),
          },
          metrics.map((name) => h("option", { value: name, selected: name === metric }, name)),
        );
        return [
          h("h2", {}, "Exams"),
          h("div.toolbar", {}, h("label", {}, "by", choose), h("span.quiet", { role: "status", data: { busy: "" } })),
          h(
            "div.scroll",
            {},
            h(
              "table",
              { aria: { label: "Exams" } },
              h(
                "thead",
                {},
                h(
                  "tr",
                  {},
                  ["", "before", "after", `after, less ${letters[0]}`].map((words) => h("th", { scope: "col" }, words)),
                ),
              ),
              h(
                "tbody",
                {},
                arms.map(([letter, rates]) =>
                  h(
                    "tr",
                    {},
                    h("th", { scope: "row" }, letter),
                    rates.map((rate) => h("td", {}, rate?.words ?? "–")),
                    h(
                      "td",
                      { data: { apart: letter } },
                      letter === letters[0] ? h("span.quiet", {}, "what the others are held against") : "…",
                    ),
                  ),
                ),
              ),
            ),
          ),
        ];
      },
    );
    if (said.metric) fillApart(letters.slice(1));
  }

  async function fillApart(letters) {
    const asked = JSON.stringify([wish.run, said.metric, wish.apart, parts.get("exams")]);
    if (apart.get("asked") === asked) return;
    apart.set("asked", asked);
    const busy = rooms.exams.querySelector("[data-busy]");
    for (const [n, letter] of letters.entries()) {
      put(busy, `comparing problem by problem, ${n + 1} of ${letters.length}`);
      try {
        const between = await get("/api/runs/compare/difference", {
          run: wish.run,
          metric: said.metric,
          apart: wish.apart,
          arm: letter,
          at: "after",
        });
        if (!around.here() || apart.get("asked") !== asked) return;
        const tone = { higher: "good", lower: "bad" }[between.verdict] ?? "";
        put(
          rooms.exams.querySelector(`[data-apart="${CSS.escape(letter)}"]`),
          h("span", { class: tone }, minus(between.words)),
        );
      } catch (error) {
        if (around.here()) around.fault(error);
        break;
      }
    }
    put(busy);
  }

  async function findPrompt() {
    put(rooms.prompt, h("p.quiet", { role: "status" }, "Looking for a prompt on which they differ…"));
    try {
      const { task, prompt, sides, column, note } = await get("/api/runs/compare/prompt", { run: wish.run });
      if (!around.here()) return;
      if (sides.length < 2) {
        put(rooms.prompt, h("p.quiet", {}, note));
        return;
      }
      const [left, ...others] = sides;
      put(
        rooms.prompt,
        h("h2", {}, "Side by side"),
        h(
          "p",
          {},
          h("span.quiet", {}, `The prompt they differ most on${column ? ` by ${column}` : ""}: `),
          h("code", {}, prompt.length > 200 ? `${prompt.slice(0, 200)}…` : prompt),
        ),
        h(
          "div.toolbar",
          {},
          others.map((right) =>
            h(
              "a.button",
              {
                href: address("/beside", {
                  task,
                  left: `${left.run}:${left.step}`,
                  right: `${right.run}:${right.step}`,
                }),
              },
              `${left.arm} beside ${right.arm}`,
            ),
          ),
        ),
      );
    } catch (error) {
      if (around.here()) put(rooms.prompt, h("p.quiet", {}, error.message));
    }
  }

  // --- curves -----------------------------------------------------------------------------------------------------------------

  function lines(bySeries, dots = false) {
    return said.arms
      .map((arm, n) => [arm, n, bySeries[arm.letter]])
      .filter(([, , one]) => one)
      .map(([arm, n, one]) => ({
        name: one.seeds > 1 ? `${arm.letter} (mean of ${one.seeds} seeds)` : arm.letter,
        ...style(n),
        dots: dots && one.x.length < 2,
        hidden: wish.hide.has(arm.letter),
        x: one.smooth?.x ?? one.x,
        y: one.smooth?.value ?? one.value,
        low: one.smooth ? null : one.low,
        high: one.smooth ? null : one.high,
        faint: one.smooth ? { x: one.x, y: one.value } : null,
      }));
  }
  function chartOf(name, next) {
    const spec = { xWords: X_WORDS[wish.x], whole_x: wish.x === "steps", latest: "", ...next };
    if (charts.has(name)) charts.get(name).update(spec);
    else {
      const made = lineChart(spec);
      made.card = h("div.card", {}, made.element);
      charts.set(name, made);
    }
    return charts.get(name).card;
  }

  function drawCurves() {
    const words = wantedWords(wish);
    const wanted = [];
    if (said.metric && !words.length && Object.values(said.held_out).some((one) => one)) {
      wanted.push(
        chartOf("held out", {
          label: `${capital(said.metric_words)}, held out`,
          series: lines(said.held_out, true),
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
      const names = wantedNow(one, group.names, said.curves, also, refresh);
      const drawn = names.filter((name) => varies(said.curves[name]));
      const still = names.filter((name) => !varies(said.curves[name]));
      keepInOrder(
        one.grid,
        drawn.map((name) => {
          const { title, series } = said.curves[name];
          return chartOf(`curve ${name}`, {
            label: title,
            quiet: title === name ? "" : name,
            series: lines(series),
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
    keepInOrder(curves, wanted);
  }
  function varies({ series, noise }) {
    return !noise && new Set(Object.values(series).flatMap((one) => one.value.filter((v) => v !== null))).size > 1;
  }
  function only(series) {
    return Object.values(series)
      .flatMap((one) => one.value)
      .find((v) => v !== null);
  }

  function sectionOf(group, folded) {
    if (!sections.has(group.tone)) sections.set(group.tone, curveSection(group.title, "", !folded, drawCurves));
    return sections.get(group.tone);
  }
}
