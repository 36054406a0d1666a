// One run: what came of it, how it works, its curves as they grow, and what went wrong.

import { address, get } from "/page/asking.js";
import { lineChart } from "/page/charts/line_chart.js";
import { stackChart } from "/page/charts/stack_chart.js";
import { line as copyLine } from "/page/copying.js";
import { h, once, put } from "/page/dom.js";
import { layer, openDialog } from "/page/keys.js";
import { count, number, percent, plural, seconds } from "/page/numbers.js";
import {
  X_WORDS,
  curveSection,
  curveTools,
  fittingGroups,
  keepInOrder,
  readWish,
  wantedNow,
  wantedWords,
  wishInAddress,
} from "/page/views/curve_parts.js";
import { again, capital, headlineWords, interval, progressBar, statusChip, when } from "/page/views/run_words.js";

const TONES = { reward: 0, policy: 4, play: 2, other: 7, kind: 1 };
const FLAT = { zero: "0 in every step", rounding: "0 but for rounding", constant: "the same in every step" };
const ROLES = {
  draw: "draw tasks",
  play: "play",
  score: "score",
  credit: "give credit",
  learn: "learn",
  stage: "stage",
  examine: "examine",
};

export async function show(place, around) {
  const id = around.params.run;
  const wish = readWish(around.query);
  let one = null,
    curves = null,
    asked = 0;
  const also = new Set(); // curves that somebody unfolded or searched for
  const parts = new Map(),
    charts = new Map(),
    open = new Set();

  const rooms = Object.fromEntries(
    ["head", "alarms", "flow", "exams", "facts", "commands", "inner", "settings", "draws"].map((name) => [
      name,
      h(`section.run-${name}`, {}),
    ]),
  );
  const tools = curveTools(
      wish,
      () => {
        keep();
        if (curves) drawCurves();
      },
      () => {
        keep();
        refresh();
      },
    ),
    sections = h("div", {}),
    curveRoom = h("section", { aria: { label: "Curves" } }, h("h2", {}, "Curves"), tools, sections);
  put(place, h("p", {}, "Reading the run…"));
  const refresh = around.guard(async () => {
    const mine = ++asked;
    const [now, drawn] = await Promise.all([
      get(`/api/runs/one/${id}`).catch(gone),
      get(`/api/runs/one/${id}/curves`, { x: wish.x, smooth: wish.smooth || "", also: [...also] }).catch(() => null),
    ]);
    if (mine !== asked || !around.here()) return; // a later question is under way
    const begins = one === null;
    one = now;
    curves = drawn;
    around.fault(null);
    if (begins) begin();
    draw();
  });
  function gone(error) {
    throw one && error.status === 404
      ? new Error(`${one.run.name} is not there any more: its folder was deleted or moved`)
      : error;
  }
  again(around, refresh, {
    concerns: (ids) => ids.includes(id) || one?.inner?.some((run) => ids.includes(run.id)),
    goesOn: () => one?.run.status === "going on",
  });
  await refresh();
  if (!one && asked > 1) return; // the next answer shows it
  if (!one) put(place, h("p", {}, "This run cannot be shown. ", h("a", { href: "/" }, "All runs")));
  else if (location.hash === "#alarms") document.getElementById("alarms")?.scrollIntoView();

  function begin() {
    around.title(one.run.name);
    around.keys(
      layer("run")
        .on("r", "its rollouts", () => around.go(address("/rollouts", { run: id })))
        .on("c", "compare with another", chooseOther)
        .on("b", "bench", () => around.go(address("/bench", { run: id })))
        .on("l", "labels", () => around.go(address("/labels", { run: id })))
        .on(
          ["ArrowLeft", "ArrowRight"],
          "read a chart that has the focus; enter opens the step's rollouts",
          () => false,
        ),
    );
    const study = one.run.kind === "study";
    put(
      place,
      rooms.head,
      rooms.alarms,
      one.readable
        ? [
            h(
              "div.run-columns",
              {},
              h(
                "div.run-main",
                {},
                study ? rooms.inner : null,
                study ? null : [curveRoom, rooms.draws],
                rooms.exams,
                rooms.flow,
              ),
              h("aside.run-aside", {}, rooms.facts, rooms.commands, rooms.settings),
            ),
          ]
        : null,
    );
  }

  // A part of the page is made anew only when what it says has changed; what was unfolded stays so.
  function part(name, said, make) {
    const text = JSON.stringify(said);
    if (parts.get(name) === text) return;
    parts.set(name, text);
    const key = rooms[name].contains(document.activeElement) ? document.activeElement.dataset.key : null;
    put(rooms[name], make(said));
    if (key) rooms[name].querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  }
  function fold(key, words, content) {
    const made = h("details", { open: open.has(key) }, h("summary", { data: { key } }, words), content);
    made.addEventListener("toggle", () => (made.open ? open.add(key) : open.delete(key)));
    return made;
  }

  function draw() {
    part("head", [one.run, one.within, one.evidence, one.rollouts], head);
    part("alarms", one.alarms ?? [], alarms);
    if (!one.readable) return;
    part("flow", one.flow, flow);
    part("facts", [one.facts, one.rewards, one.run], facts);
    part("commands", one.commands, (lines) => [
      h("h2", {}, "On the command line"),
      lines.map(({ what, line }) => [h("div.quiet", {}, what), copyLine(line)]),
    ]);
    part("settings", [one.settings, one.config], settings);
    part("inner", [one.inner, one.result], inner);
    if (curves) drawCurves();
    drawExams();
  }

  function head([run, within, evidence, rollouts]) {
    const line = run.headline;
    return [
      h(
        "p.crumbs",
        {},
        h("a", { href: "/" }, "Runs"),
        within ? [" / ", h("a", { href: `/run/${within.id}` }, within.name)] : null,
        h("span.quiet", {}, ` / ${run.path}`),
      ),
      h("div.title-line", {}, h("h1", {}, run.name), statusChip(run), progressBar(run.progress)),
      run.why && run.status !== "unreadable" ? h("p.quiet", {}, run.why) : null,
      run.status === "unreadable" ? h("p.bad", {}, run.why) : null,
      line
        ? h(
            "p.big",
            {},
            headlineWords(line),
            h(
              "span.quiet.about",
              {},
              [line.before ? interval(line, line.before) : "", interval(line, line.after)].filter(Boolean).join(" → "),
              interval(line, line.after) ? " (95 %), " : " ",
              line.about,
            ),
          )
        : null,
      one.readable
        ? h(
            "nav.toolbar",
            { aria: { label: "Of this run" } },
            rollouts
              ? [
                  h("a.button", { href: address("/rollouts", { run: id }), data: { key: "rollouts" } }, "Its rollouts"),
                  h("a.button", { href: address("/bench", { run: id }), data: { key: "bench" } }, "Bench"),
                  h("a.button", { href: address("/labels", { run: id }), data: { key: "labels" } }, "Labels"),
                ]
              : null,
            run.kind === "study"
              ? null
              : h("button", { type: "button", data: { key: "compare" }, onclick: chooseOther }, "Compare with…"),
            evidence
              ? h(
                  "a.button",
                  { href: `/evidence/${encodeURIComponent(evidence)}`, data: { key: "evidence" } },
                  `Evidence of ${evidence}`,
                )
              : null,
          )
        : null,
    ];
  }

  function alarms(list) {
    if (!list.length) return null;
    return [
      h("h2", { id: "alarms" }, "Alarms"),
      h(
        "ul.alarms",
        {},
        list.map((alarm, n) =>
          h(
            "li",
            { class: `level-${alarm.level}` },
            h(
              "div",
              {},
              h("b", {}, alarm.title),
              alarm.step === null ? null : h("span.quiet", {}, ` step ${count(alarm.step)}`),
              alarm.count > 1 ? h("span.quiet", {}, ` × ${count(alarm.count)}`) : null,
              alarm.rollouts
                ? h("a.to", { href: alarm.rollouts, data: { key: `alarm ${n}` } }, "the rollouts →")
                : null,
            ),
            h("div.message", {}, alarm.message),
            alarm.detail ? fold(`alarm ${alarm.title}`, "the first exception", h("pre", {}, alarm.detail)) : null,
          ),
        ),
      ),
    ];
  }

  function flow(boxes) {
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

  function facts([said, rewards, run]) {
    const { spent } = said;
    const pairs = [
      ["recipe", run.recipe],
      ["task", run.task],
      ["model", run.model],
      ["reward", run.reward],
      ...rewards.map(({ column, formula, version }) => [
        `${column} =`,
        [h("code", {}, formula), h("span.quiet", {}, ` version ${version}`)],
      ]),
      ["seed", String(said.seed)],
      [
        "spent",
        [
          spent.tokens ? `${count(spent.tokens)} tokens` : null,
          spent.episodes ? `${count(spent.episodes)} episodes` : null,
          spent.updates ? `${count(spent.updates)} updates` : null,
          spent.seconds ? seconds(spent.seconds) : null,
        ]
          .filter(Boolean)
          .join(", "),
      ],
      ["begun", when(said.created)],
      ["again", said.again],
      ["weights", said.weights ?? "not final yet"],
      ["recipe's hash", said.hash],
      ...Object.entries(said.models).map(([name, about]) => [
        name,
        Object.entries(about)
          .map(([key, v]) => `${key} ${typeof v === "number" ? count(v) : v}`)
          .join(", "),
      ]),
      [
        "hardware",
        Object.entries(said.hardware)
          .map(([key, v]) => (key === "threads" ? `${v} threads` : v))
          .join(", "),
      ],
      [
        "versions",
        Object.entries(said.versions)
          .map(([key, v]) => `${key} ${v}`)
          .join(", "),
      ],
    ];
    return [
      h("h2", {}, "Facts"),
      h(
        "dl.pairs",
        {},
        pairs.filter(([, v]) => v).map(([name, v]) => [h("dt", {}, name), h("dd", {}, v)]),
      ),
    ];
  }

  function settings([groups, config]) {
    return [
      h("h2", {}, "Settings"),
      Object.entries(groups)
        .filter(([, pairs]) => Object.keys(pairs).length)
        .map(([group, pairs]) =>
          fold(
            `settings ${group}`,
            `${group} (${Object.keys(pairs).length})`,
            h(
              "dl.pairs.knobs",
              {},
              Object.entries(pairs).map(([name, said]) => [h("dt", {}, name), h("dd", {}, said)]),
            ),
          ),
        ),
      fold("run.json", "run.json as it is", h("pre.whole-config", { tabindex: "0" }, JSON.stringify(config, null, 1))),
    ];
  }

  function inner([runs, result]) {
    if (one.run.kind !== "study") return null;
    return [
      h("h2", {}, plural(runs.length, "run")),
      runs.length
        ? h(
            "div.scroll",
            {},
            h(
              "table.runs-table",
              { aria: { label: "The runs of this study" } },
              h(
                "thead",
                {},
                h(
                  "tr",
                  {},
                  ["name", "status", "before → after", "progress", "recipe", "seed"].map((words) =>
                    h("th", { scope: "col" }, words),
                  ),
                ),
              ),
              h(
                "tbody",
                {},
                runs.map((run) =>
                  h(
                    "tr",
                    {},
                    h("td.name", {}, h("a", { href: `/run/${run.id}`, data: { key: run.id } }, run.name)),
                    h("td", {}, statusChip(run)),
                    h("td", {}, headlineWords(run.headline)),
                    h("td", {}, progressBar(run.progress)),
                    h("td", {}, run.recipe),
                    h("td", {}, run.seed),
                  ),
                ),
              ),
            ),
          )
        : h("p.quiet", {}, "none yet"),
      runs.length > 1
        ? h(
            "p",
            {},
            h(
              "a.button",
              { href: address("/compare", { run: runs.slice(0, 12).map((run) => run.id) }) },
              "Compare them",
            ),
          )
        : null,
      result.length
        ? [
            h("h2", {}, "What it returned"),
            h(
              "dl.pairs",
              {},
              result.map(({ name, value: said }) => [h("dt", {}, name), h("dd", {}, said)]),
            ),
          ]
        : null,
    ];
  }

  // --- curves ---------------------------------------------------------------------------------------------------------------

  function keep() {
    around.keepInAddress(address(`/run/${id}`, wishInAddress(wish)));
  }

  function toRollouts(step) {
    const before = curves.stored.filter((each) => each <= step);
    const at = before.at(-1) ?? curves.stored[0];
    if (at !== undefined) around.go(address("/rollouts", { run: id, step: String(at) }));
  }

  function spec(name, tone) {
    const curve = curves.curves[name];
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
      open: curves.stored.length ? toRollouts : undefined,
    };
  }

  function drawCurves() {
    const words = wantedWords(wish);
    const groups = fittingGroups(curves.sections, words, curves.first);
    const wanted = groups.map((group) => {
      const folded = ["other", "kind"].includes(group.tone) && !words.length;
      const list = sectionOf(group, folded);
      const there = wantedNow(list, group.names, curves.curves, also, refresh);
      const shown = there.filter((name) => words.length || !curves.curves[name].flat);
      const flat = words.length ? [] : there.filter((name) => curves.curves[name].flat);
      if (list.element.open)
        keepInOrder(
          list.grid,
          shown.map((name) => chart(name, group.tone)),
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
    keepInOrder(sections, wanted);
    const { draws } = curves;
    rooms.draws.hidden = !draws;
    if (draws) {
      const next = {
        label: "What the curriculum drew",
        columns: draws,
        height: 190,
        latest: "shares of the tasks asked for",
        open: curves.stored.length ? toRollouts : undefined,
      };
      if (!charts.has("draws")) {
        charts.set("draws", stackChart(next));
        put(
          rooms.draws,
          h("h2", {}, "Draws"),
          h("div.draws", {}, h("div.card", {}, charts.get("draws").element), h("div.scroll", { data: { legend: "" } })),
        );
      } else charts.get("draws").update(next);
      put(
        rooms.draws.querySelector("[data-legend]"),
        h(
          "table",
          { aria: { label: "Shares of kinds" } },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col" }, "kind"),
              ["first tenth", "last tenth", "all"].map((each) => h("th.num", { scope: "col" }, each)),
            ),
          ),
          h(
            "tbody",
            {},
            draws.kinds.map((kind) =>
              h(
                "tr",
                {},
                h(
                  "td",
                  {},
                  h(`span.swatch.piece.hue-${kind.hue}`, {
                    style: { "--depth": `${kind.depth.toFixed(0)}%` },
                    aria: { hidden: "true" },
                  }),
                  kind.kind,
                ),
                [kind.early, kind.late, kind.whole].map((share) => h("td.num", {}, percent(share ?? null))),
              ),
            ),
          ),
        ),
      );
    }
  }

  function sectionOf(group, folded) {
    const key = `section ${group.tone}`;
    if (!parts.has(key)) parts.set(key, curveSection(group.title, group.lead, !folded, drawCurves));
    const made = parts.get(key);
    put(made.count, ` ${plural(group.names.length, "metric")}`);
    if (wish.metric) made.element.open = true;
    return made;
  }

  function chart(name, tone) {
    return chartOf(`curve ${name}`, spec(name, tone));
  }
  function chartOf(key, next) {
    if (charts.has(key)) charts.get(key).update(next);
    else {
      const made = lineChart(next);
      made.card = h("div.card", {}, made.element);
      charts.set(key, made);
    }
    return charts.get(key).card;
  }

  // the headline over the steps: a line on the problems trained on, dots for exams
  function headlineSpec() {
    const measure = headlineMeasure(),
      curve = curves.curves[curves.first];
    if (!measure && !curve) return null;
    const series = [];
    if (curve) series.push({ ...spec(curves.first, "reward").series[0], name: "trained on", low: null, high: null });
    if (measure)
      series.push({
        name: "held out",
        hue: 1,
        dots: true,
        x: examPlaces(),
        y: measure.points.map((p) => p[0]),
        low: measure.points.map((p) => p[1]),
        high: measure.points.map((p) => p[2]),
      });
    const words = one.run.headline?.words ?? curve?.title ?? "";
    return {
      ...(curve ? spec(curves.first, "reward") : { xWords: X_WORDS[wish.x] }),
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
  function headlineMeasure() {
    return one.run.headline?.source === "exam"
      ? (one.exams?.measures.find((each) => each.words === one.run.headline.words) ?? null)
      : null;
  }
  function examPlaces() {
    return wish.x === "steps" ? one.exams.steps_done : one.exams.spent.map((spent) => spent[wish.x]);
  }

  function drawExams() {
    drawExamTable();
    const room = rooms.exams.querySelector("[data-charts]");
    if (!room || one.exams.steps_done.length < 2) return;
    const places = examPlaces(),
      headline = headlineMeasure();
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

  function drawExamTable() {
    part("exams", one.exams, (exams) => {
      if (!exams) return null;
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
    });
  }

  function chooseOther() {
    const list = h("ul.plain-list", {});
    const search = h("input", {
      type: "search",
      placeholder: "search runs",
      aria: { label: "Search runs" },
      oninput: once(150, fill),
    });
    const dialog = openDialog(`Compare ${one.run.name} with`, [search, list]);
    async function fill() {
      try {
        const { rows } = await get("/api/runs", { search: search.value, limit: 40 });
        const others = rows.filter((row) => row.id !== id && row.kind === "recipe");
        put(
          list,
          others.length
            ? others.map((row) =>
                h(
                  "li",
                  {},
                  h("a", { href: address("/compare", { run: [id, row.id] }), onclick: () => dialog.close() }, row.name),
                  h("span.quiet", {}, ` ${row.recipe}, ${row.task}, seed ${row.seed}`),
                ),
              )
            : h("li.quiet", {}, "no other run fits"),
        );
      } catch (error) {
        around.fault(error);
      }
    }
    search.focus();
    fill();
  }
}
