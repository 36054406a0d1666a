"""How the report looks (light and dark, wide and narrow) and its few lines of script: read-outs when a chart is pointed at.

The page loads nothing: no fonts, no libraries, no pictures.
"""

from __future__ import annotations

CSS = """
:root { color-scheme: light dark;
  --page: #fbfaf8; --card: #ffffff; --ink: #1f2328; --quiet: #6a7078; --hair: #e4e1db; --axis: #c3beb5;
  --reward: #2f62b5; --policy: #7a4fb0; --play: #39777d;
  --pos: 22 150 106; --neg: 214 64 38; --none: #8a9099; --good: #14724f; --bad: #b5351d; --wait: #8c6200;
  --hue-0: #1f4f9c; --hue-1: #8a5a00; --hue-2: #1d6b58; --hue-3: #8a2f6b; --hue-4: #5b3ea3; --hue-5: #a3361f; }
@media (prefers-color-scheme: dark) { :root {
  --page: #14171b; --card: #1b1f24; --ink: #e4e6e9; --quiet: #979ea8; --hair: #2b3138; --axis: #4a525c;
  --reward: #7fa8ee; --policy: #ba98e8; --play: #74bcc0;
  --pos: 46 178 130; --neg: 235 98 70; --none: #7d858f; --good: #5ccaa0; --bad: #f08a72; --wait: #ddb45c;
  --hue-0: #8fb6ff; --hue-1: #f0c46a; --hue-2: #79dcc0; --hue-3: #f29ad0; --hue-4: #c3a8ff; --hue-5: #ff9d86; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 ui-sans-serif, system-ui, -apple-system,
  "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums; }
main { max-width: 1120px; margin: 0 auto; padding: 40px 24px 64px; }
h1 { font-size: 34px; line-height: 1.15; letter-spacing: -0.02em; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 19px; letter-spacing: -0.01em; margin: 52px 0 4px; }
h3 { font-size: 15px; margin: 28px 0 8px; }
p { margin: 0 0 8px; }
a { color: var(--reward); }
.lead { color: var(--quiet); max-width: 92ch; margin-bottom: 16px; }
.quiet { color: var(--quiet); font-weight: 400; }
code, pre, .code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: 12.5px; }
.top { display: flex; flex-wrap: wrap; align-items: baseline; gap: 6px 14px; }
.of { font-size: 17px; color: var(--quiet); margin: 6px 0 0; overflow-wrap: anywhere; }
.status { font-size: 13px; font-weight: 600; padding: 2px 11px; border-radius: 99px; border: 1px solid currentColor;
  overflow-wrap: anywhere; }
.complete { color: var(--good); } .stopped { color: var(--bad); border-radius: 12px; }
.unfinished { color: var(--wait); }
dl.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(114px, 1fr)); gap: 14px 16px; margin: 20px 0 0;
  padding: 16px 0; border-top: 1px solid var(--hair); border-bottom: 1px solid var(--hair); }
dl.facts div { min-width: 0; } dl.facts dt { color: var(--quiet); font-size: 12.5px; }
dl.facts dd { margin: 0; font-weight: 550; overflow-wrap: anywhere; }
dl.facts dd.code { font-weight: 400; line-height: 1.95; font-size: 11.5px; }
.versions { color: var(--quiet); font-size: 12.5px; margin-top: 10px; overflow-wrap: anywhere; }
.note { border-left: 3px solid var(--wait); padding: 2px 0 2px 14px; margin: 18px 0; overflow-wrap: anywhere; }
.note.bad { border-color: var(--bad); }
.note code { user-select: all; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 310px), 1fr)); gap: 16px; }
.chart, .tile, .rollout { background: var(--card); border: 1px solid var(--hair); border-radius: 10px; margin: 0;
  min-width: 0; }
.chart, .tile { padding: 13px 15px 9px; }
.chart figcaption { display: flex; justify-content: space-between; align-items: baseline; gap: 2px 12px;
  flex-wrap: wrap; }
.chart .name, .tile .name { font-weight: 600; overflow-wrap: anywhere; }
.chart .now { font-size: 12.5px; white-space: nowrap; }
.chart .now .value { font-weight: 600; color: var(--tone); font-size: 15px; }
.chart > .code { color: var(--quiet); font-size: 11.5px; display: block; margin-top: -2px; overflow-wrap: anywhere; }
.chart svg { display: block; width: 100%; height: auto; margin-top: 6px; overflow: visible; border-radius: 4px;
  cursor: crosshair; }
.chart svg:focus-visible { outline: 2px solid var(--tone); outline-offset: 3px; }
.reward { --tone: var(--reward); } .policy { --tone: var(--policy); } .play { --tone: var(--play); }
.line { fill: none; stroke: var(--tone); stroke-width: 1.7; stroke-linejoin: round; stroke-linecap: round; }
.band { fill: var(--tone); opacity: .14; } .end, .spot { fill: var(--tone); stroke: var(--card); stroke-width: 1.2; }
.axis { stroke: var(--axis); } .zero { stroke: var(--axis); stroke-dasharray: 2 3; }
.tick { fill: var(--quiet); font-size: 10.5px; } .cross { stroke: var(--quiet); stroke-width: .8; }
.cross, .spot { visibility: hidden; } .live .cross, .live .spot { visibility: visible; }
.live .end { visibility: hidden; }
.draws { display: grid; grid-template-columns: minmax(0, 1fr) minmax(300px, auto); gap: 6px 24px; align-items: start; }
.kind, .swatch { --own: color-mix(in oklab, var(--hue) var(--depth), var(--card)); }
.kind { fill: var(--own); shape-rendering: crispEdges; } .swatch { background: var(--own); display: inline-block;
  width: 11px; height: 11px; border-radius: 2px; margin-right: 8px; vertical-align: -1px; }
.draws rect.cross { fill: none; stroke: var(--ink); stroke-width: 1.4; } .draws .list th, .draws .list td { padding: 2px 8px; }
.draws .list { font-size: 12.5px; } .draws.picked .kind:not(.on) { opacity: .25; }
.tile .change { font-size: 23px; font-weight: 600; letter-spacing: -0.01em; margin: 2px 0; }
.tile .change .was { color: var(--quiet); font-weight: 400; }
.tile > .quiet { font-size: 12.5px; }
.whiskers { display: block; width: 100%; height: auto; overflow: visible; }
.whisker { stroke-width: 2; stroke-linecap: round; stroke: var(--tone); } .whisker.was { stroke: var(--axis); }
.dot { fill: var(--tone); } .dot.was { fill: var(--card); stroke: var(--quiet); stroke-width: 1.4; }
.ends { display: flex; justify-content: space-between; color: var(--quiet); font-size: 11.5px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; } .list { width: 100%; font-size: 13.5px; } .list.narrow { max-width: 720px; }
.list th, .list td { text-align: right; padding: 5px 10px; border-bottom: 1px solid var(--hair);
  white-space: nowrap; }
.list th:first-child, .list td:first-child { text-align: left; padding-left: 0; }
.list thead th { color: var(--quiet); font-weight: 400; }
.list th[scope=row] { font-weight: 500; } .list .whiskers { width: clamp(84px, 18vw, 200px); }
.spark { width: 100px; height: 20px; display: block; margin-left: auto; } .spark .line { stroke-width: 1.4; }
details > summary { cursor: pointer; }
details.more { margin-top: 40px; border-top: 1px solid var(--hair); padding-top: 14px; }
details.more + details.more { margin-top: 14px; } details.more > summary { font-weight: 600; margin-bottom: 10px; }
pre { overflow-x: auto; margin: 6px 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.rollout { margin: 12px 0; padding: 12px 16px 14px; }
.rollout header { display: flex; flex-wrap: wrap; gap: 2px 14px; align-items: baseline; font-size: 13px;
  margin-bottom: 10px; }
.rank { font-weight: 600; font-size: 15px; }
.role { border: 1px solid var(--axis); border-radius: 99px; padding: 0 9px; }
.rollout .body { display: grid; grid-template-columns: minmax(0, 1fr) minmax(190px, 300px); gap: 10px 28px; }
.talk p, .talk .turn { display: grid; grid-template-columns: 74px minmax(0, 1fr); margin: 0 0 8px;
  align-items: baseline; }
.who { color: var(--quiet); font-size: 12.5px; }
.said { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; min-width: 0;
  font: 14px/1.75 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
div.said { white-space: normal; } .text { white-space: pre-wrap; }
.text, .plain { max-height: 22em; overflow-y: auto; } .end-mark { color: var(--quiet); font-size: .8em; }
.t { border-radius: 2px; padding: 1px 0; } .t.pos { background: rgb(var(--pos) / var(--a)); }
.t.neg { background: rgb(var(--neg) / var(--a)); } .t.none { color: var(--none); }
.t.nil { box-shadow: inset 0 -1px var(--axis); } .t:hover { outline: 1px solid var(--ink); }
.strip { display: flex; flex-wrap: wrap; gap: 1px; margin-top: 4px; }
.strip .t { width: 7px; height: 9px; padding: 0; }
.strip .none, .strip .nil { background: var(--hair); box-shadow: none; }
.columns { font-size: 13px; align-self: start; width: 100%; }
.columns th { text-align: left; font-weight: 400; color: var(--quiet);
  padding: 2px 12px 2px 0; vertical-align: top; }
.columns td { text-align: right; padding: 2px 0; font-weight: 550; overflow-wrap: anywhere; }
.reason { font-weight: 400; color: var(--quiet); }
.reason.failed, .reason.timed-out { color: var(--bad); font-weight: 600; }
.error { color: var(--bad); font-weight: 400; text-align: left; overflow-wrap: anywhere; }
.error pre { color: var(--ink); font-size: 11.5px; }
.columns td.detail { font-weight: 400; color: var(--quiet); text-align: left; font-size: 12px; }
.legend { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 10px; font-size: 12.5px; margin: 4px 0 0; }
.ramp { width: 130px; height: 11px; border-radius: 3px;
  background: linear-gradient(90deg, rgb(var(--neg) / .7), rgb(var(--neg) / .12) 49%,
  rgb(var(--pos) / .12) 51%, rgb(var(--pos) / .7)); }
footer { margin-top: 56px; padding-top: 14px; border-top: 1px solid var(--hair); color: var(--quiet);
  font-size: 12.5px; }
@media (max-width: 640px) { main { padding: 24px 16px 48px; } h1 { font-size: 27px; } h2 { margin-top: 40px; }
  dl.facts { grid-template-columns: repeat(auto-fill, minmax(118px, 1fr)); }
  .list th, .list td { padding: 5px 7px; } .draws { grid-template-columns: minmax(0, 1fr); }
  .draws .tick { font-size: 17px; }
  .rollout .body { grid-template-columns: minmax(0, 1fr); }
.talk p, .talk .turn { grid-template-columns: minmax(0, 1fr); }
  .columns { border-top: 1px solid var(--hair); } .columns tr:first-child > * { padding-top: 8px; } }
@media print { .chart, .tile, .rollout { break-inside: avoid; } body { background: none; } }
"""

# The numbers a read-out shows are those of the data block beside it, written as `markup.show` writes them.
SCRIPT = """
const curves = JSON.parse(document.getElementById("curves").textContent);
const digits = d => ({minimumFractionDigits: d, maximumFractionDigits: d});
const show = v => { const a = Math.abs(v);
  let s = a >= 1e6 || (a > 0 && a < 1e-3) ? v.toExponential(2).replace("+", "") :
    Number.isInteger(v) || a >= 1e3 ? v.toLocaleString("en", digits(0)) :
    v.toLocaleString("en", digits(a >= 100 ? 1 : a >= 10 ? 2 : a >= .1 ? 3 : 4));
  return s.replaceAll("-", "\\u2212"); };
const part = (kind, text) => { const e = document.createElement("span"); e.className = kind; e.textContent = text; return e; };
for (const svg of document.querySelectorAll("svg[data-curve]")) {
  const c = curves[svg.dataset.curve], low = +svg.dataset.low, high = +svg.dataset.high;
  const now = svg.parentNode.querySelector("output"), rest = [...now.childNodes];
  const cross = svg.querySelector(".cross"), spot = svg.querySelector(".spot");
  const valued = c.step.map((_, i) => i).filter(i => c.value[i] !== null), first = c.step[0], last = c.step.at(-1);
  const [LEFT, RIGHT, TOP, BOTTOM] = svg.dataset.frame.split(" ").map(Number);
  const x = s => last > first ? LEFT + (s - first) / (last - first) * (RIGHT - LEFT) : (LEFT + RIGHT) / 2;
  const y = v => high > low ? BOTTOM + (v - low) / (high - low) * (TOP - BOTTOM) : (TOP + BOTTOM) / 2;
  let at = valued.length - 1;
  const point = n => { at = n; const i = valued[n], px = x(c.step[i]);
    cross.setAttribute("x1", px); cross.setAttribute("x2", px);
    spot.setAttribute("cx", px); spot.setAttribute("cy", y(c.value[i])); svg.classList.add("live");
    const said = [part("value", show(c.value[i]))];
    if (c.std && c.std[i] !== null) said.push(part("quiet", " \\u00b1 " + show(c.std[i])));
    now.replaceChildren(...said, part("quiet", " at step " + c.step[i].toLocaleString("en"))); };
  const leave = () => { svg.classList.remove("live"); now.replaceChildren(...rest); };
  svg.addEventListener("pointermove", e => { const box = svg.getBoundingClientRect();
    const px = (e.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    const far = n => Math.abs(x(c.step[valued[n]]) - px);
    point(valued.reduce((best, _, n) => far(n) < far(best) ? n : best, 0)); });
  svg.addEventListener("pointerleave", leave); svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", e => { const move = {ArrowLeft: -1, ArrowRight: 1}[e.key];
    if (move) { e.preventDefault(); point(Math.min(valued.length - 1, Math.max(0, at + move))); } });
}
for (const svg of document.querySelectorAll("svg[data-draws]")) {
  const columns = JSON.parse(svg.dataset.draws), [LEFT, RIGHT] = svg.dataset.frame.split(" ").map(Number);
  const figure = svg.closest("figure"), cross = svg.querySelector(".cross"), wide = (RIGHT - LEFT) / columns.length;
  const cells = [...figure.querySelectorAll(".now")], rest = cells.map(e => [...e.childNodes]);
  let at = columns.length - 1;
  const point = c => { at = Math.min(columns.length - 1, Math.max(0, c)); const [first, last, ...shares] = columns[at];
    cross.setAttribute("x", LEFT + at * wide); svg.classList.add("live");
    const steps = last > first ? "steps " + show(first) + " to " + show(last) : "step " + show(first);
    const said = [steps, ...shares.map(s => s === null ? "none" : (100 * s).toFixed(1) + " %")];
    cells.forEach((e, i) => e.replaceChildren(said[i])); };
  const leave = () => { svg.classList.remove("live"); cells.forEach((e, i) => e.replaceChildren(...rest[i])); };
  svg.addEventListener("pointermove", e => { const box = svg.getBoundingClientRect();
    point(Math.floor(((e.clientX - box.left) / box.width * svg.viewBox.baseVal.width - LEFT) / wide)); });
  svg.addEventListener("pointerleave", leave); svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", e => { const move = {ArrowLeft: -1, ArrowRight: 1}[e.key];
    if (move) { e.preventDefault(); point(at + move); } });
  for (const row of figure.querySelectorAll("tr[data-kind]")) {
    const band = svg.querySelector(`path[data-kind="${row.dataset.kind}"]`);
    const pick = on => { figure.classList.toggle("picked", on); band.classList.toggle("on", on); };
    row.addEventListener("pointerenter", () => pick(true)); row.addEventListener("pointerleave", () => pick(false)); }
}
"""
