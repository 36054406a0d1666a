// One run: what came of it, how it works, its curves as they grow, and what went wrong.

import { address, get, inFile } from "/page/asking.js";
import { h, put } from "/page/dom.js";
import { layer } from "/page/keys.js";
import { curveTools, readWish, wishInAddress } from "/page/runs/curve_parts.js";
import { keptCharts, keptFolds, keptParts } from "/page/runs/kept_parts.js";
import { alarmList } from "/page/runs/run_alarms.js";
import { runCurves } from "/page/runs/run_curves.js";
import { runDraws } from "/page/runs/run_draws.js";
import { drawExamCharts, examTable } from "/page/runs/run_exams.js";
import { commandLines, factList, settingFolds } from "/page/runs/run_facts.js";
import { stepFlow } from "/page/runs/run_flow.js";
import { chooseOther, runHead } from "/page/runs/run_head.js";
import { again } from "/page/runs/run_words.js";
import { studyRuns } from "/page/runs/study_runs.js";

const PARTS = ["head", "alarms", "flow", "exams", "facts", "commands", "inner", "settings", "draws"];

export async function show(place, around) {
  const id = around.params.run;
  const wish = readWish(around.query);
  const now = { one: null, curves: null }; // the latest answers
  let asked = 0;
  const also = new Set(); // curves that somebody unfolded or searched for
  const { rooms, part } = keptParts("run", PARTS),
    fold = keptFolds(),
    chartOf = keptCharts();
  const open = inFile() ? undefined : toRollouts; // a file has no list of rollouts
  const curves = runCurves({ now, wish, also, ask: () => refresh(), chartOf, toRollouts: open }),
    drawDraws = runDraws(rooms.draws);
  const tools = curveTools(
    wish,
    () => {
      keep();
      if (now.curves) drawCurves();
    },
    () => {
      keep();
      refresh();
    },
    around.smooths,
  );
  put(place, h("p", {}, "Reading the run…"));
  const refresh = around.guard(async () => {
    const mine = ++asked;
    const [one, drawn] = await Promise.all([
      get(`/api/runs/one/${id}`).catch(gone),
      get(`/api/runs/one/${id}/curves`, { x: wish.x, smooth: wish.smooth || "", also: [...also] }).catch(() => null),
    ]);
    if (mine !== asked || !around.here()) return; // a later question is under way
    const begins = now.one === null;
    Object.assign(now, { one, curves: drawn });
    around.fault(null);
    if (begins) begin();
    draw();
  });
  function gone(error) {
    throw now.one && error.status === 404
      ? new Error(`${now.one.run.name} is not there any more: its folder was deleted or moved`)
      : error;
  }
  again(around, refresh, {
    concerns: (ids) => ids.includes(id) || now.one?.inner?.some((run) => ids.includes(run.id)),
    goesOn: () => now.one?.run.status === "running",
  });
  await refresh();
  if (!now.one && asked > 1) return; // the next answer shows it
  if (!now.one) put(place, h("p", {}, "This run cannot be shown. ", h("a", { href: "/" }, "All runs")));
  else if (location.hash === "#alarms") document.getElementById("alarms")?.scrollIntoView();

  function begin() {
    around.title(now.one.run.name);
    around.keys(
      layer("run")
        .on("r", "its rollouts", () => around.go(address("/rollouts", { run: id })))
        .on("c", "compare with another", compare)
        .on("b", "bench", () => around.go(address("/bench", { run: id })))
        .on("l", "labels", () => around.go(address("/labels", { run: id })))
        .on(
          ["ArrowLeft", "ArrowRight"],
          "read a chart that has the focus; enter opens the step's rollouts",
          () => false,
        ),
    );
    const below = now.one.readable ? [columns(now.one.run.kind === "study"), around.more?.()] : null;
    put(place, rooms.head, rooms.alarms, below);
  }

  function columns(isStudy) {
    const curveRoom = h("section", { aria: { label: "Curves" } }, h("h2", {}, "Curves"), tools, curves.element);
    return h(
      "div.run-columns",
      {},
      h("div.run-main", {}, isStudy ? rooms.inner : [curveRoom, rooms.draws], rooms.exams, rooms.flow),
      h("aside.run-aside", {}, rooms.facts, rooms.commands, rooms.settings),
    );
  }

  function draw() {
    const { one } = now;
    part("head", [one.run, one.within, one.evidence, one.rollouts], (said) => runHead(said, one.readable, compare));
    part("alarms", one.alarms ?? [], (alarms) => alarmList(alarms, fold));
    if (!one.readable) return;
    part("flow", one.flow, (boxes) => stepFlow(boxes, fold));
    part("facts", [one.facts, one.rewards, one.run], factList);
    part("commands", one.commands, commandLines);
    part("settings", [one.settings, one.config], (said) => settingFolds(said, fold));
    if (one.run.kind === "study") part("inner", [one.inner, one.result], studyRuns);
    if (now.curves) drawCurves();
    part("exams", one.exams, (exams) => (exams ? examTable(exams) : null));
    drawExamCharts(rooms.exams, one, wish, chartOf);
  }

  function drawCurves() {
    curves.draw();
    drawDraws(now.curves.draws, now.curves.stored.length ? open : undefined);
  }

  function keep() {
    around.keepInAddress(address(`/run/${id}`, wishInAddress(wish)));
  }

  function toRollouts(step) {
    const { stored } = now.curves;
    const before = stored.filter((each) => each <= step);
    const at = before.at(-1) ?? stored[0];
    if (at !== undefined) around.go(address("/rollouts", { run: id, step: String(at) }));
  }

  function compare() {
    chooseOther(now.one.run, around);
  }
}
