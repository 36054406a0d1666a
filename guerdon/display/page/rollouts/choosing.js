// Which run? The list of those that have rollouts; one or several are chosen.

import { get } from "/page/asking.js";
import { h, once, put } from "/page/dom.js";
import { Roving } from "/page/lists.js";
import { plural } from "/page/numbers.js";
import { shortName } from "/page/rollouts/state.js";

const MOST = 8;

export async function chooseRuns(place, around) {
  const chosen = new Set();
  const body = h("tbody", {}),
    said = h("p.quiet", { role: "status" }),
    open = h("button.main", { type: "button", onclick: () => show([...chosen]) });
  const input = h("input", {
    type: "search",
    placeholder: "Part of a name",
    aria: { label: "Search runs" },
    data: { search: "" },
    oninput: once(200, () => ask()),
  });
  let runs = [];
  const show = (ids) => around.go(`/rollouts?${new URLSearchParams(ids.map((id) => ["run", id]))}`);
  const list = new Roving({
    open: (n) => show(chosen.size ? [...chosen] : [runs[n].id]),
    mark: (n) => mark(runs[n].id),
  });
  const mark = (id) => {
    if (!chosen.delete(id) && chosen.size < MOST) chosen.add(id);
    tell();
  };
  const tell = () => {
    for (const box of body.querySelectorAll("input")) box.checked = chosen.has(box.value);
    open.hidden = chosen.size < 1;
    put(open, `Search ${plural(chosen.size, "run")}`);
  };
  const ask = around.guard(async () => {
    const answer = await get("/api/rollouts/runs", { search: input.value });
    if (!around.here()) return;
    runs = answer.runs;
    put(
      said,
      !runs.length && !input.value
        ? "No run here has stored rollouts yet: train one; it stores those of every step unless --rollouts-every says otherwise."
        : answer.of > runs.length
          ? `The first ${plural(runs.length, "run")} of ${answer.of}: search for others by name.`
          : "",
    );
    const focused = body.contains(document.activeElement);
    put(
      body,
      runs.map((run) =>
        h(
          "tr",
          {
            onclick: (event) => {
              if (!event.target.closest("input, a")) show([run.id]);
            },
          },
          h(
            "td.box",
            {},
            h("input", {
              type: "checkbox",
              value: run.id,
              checked: chosen.has(run.id),
              tabindex: -1,
              aria: { label: `Choose ${run.name}` },
              onclick: (event) => {
                event.preventDefault();
                setTimeout(() => mark(run.id));
              },
            }),
          ),
          h(
            "td",
            {},
            h("a", { href: `/rollouts?run=${run.id}`, tabindex: -1 }, shortName(run.name)),
            h("div.quiet.small.path", {}, run.name),
          ),
          h("td.num", {}, plural(run.files, "step")),
        ),
      ),
    );
    list.set([...body.rows]);
    if (focused) list.choose(list.at);
    tell();
  });
  put(
    place,
    h("h1", {}, "Rollouts"),
    h("p.quiet", {}, "Which run? Several can be searched together."),
    h("div.toolbar", {}, input, open),
    said,
    h(
      "div.scroll",
      {},
      h(
        "table.runs-list",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, h("span.visually-hidden", {}, "chosen")),
            h("th", { scope: "col" }, "run"),
            h("th.num", { scope: "col" }, "rollouts of"),
          ),
        ),
        body,
      ),
    ),
  );
  around.keys(list.keys("runs with rollouts"));
  around.live(() => ask());
  await ask();
  if (runs.length) list.choose(0);
}
