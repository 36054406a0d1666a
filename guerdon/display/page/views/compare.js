// Several runs over each other: curves, what was done differently, exams with how far they lie apart.

import { address, get, inFile } from "/page/asking.js";
import { h, put, tell } from "/page/dom.js";
import { layer } from "/page/keys.js";
import { armTable } from "/page/runs/compared_arms.js";
import { comparedCurves } from "/page/runs/compared_curves.js";
import { comparedExams } from "/page/runs/compared_exams.js";
import { findPrompt } from "/page/runs/compared_prompt.js";
import { differingSettings } from "/page/runs/compared_settings.js";
import { curveTools, readWish, wishInAddress } from "/page/runs/curve_parts.js";
import { keptParts } from "/page/runs/kept_parts.js";
import { again } from "/page/runs/run_words.js";

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
  const now = { said: null }; // the latest answer
  let asked = 0;
  const also = new Set(); // curves that somebody unfolded or searched for
  const kept = keptParts("compare", ["notes", "legend", "settings", "exams", "prompt"]),
    { rooms, part } = kept;
  const curves = comparedCurves({ now, wish, also, ask: () => refresh() }),
    exams = comparedExams({ kept, wish, around, change });
  put(place, h("p", {}, "Reading the runs…"));
  const refresh = around.guard(async () => {
    const mine = ++asked;
    const said = await get("/api/runs/compare", {
      run: wish.run,
      x: wish.x,
      smooth: wish.smooth || "",
      metric: wish.exam,
      apart: wish.apart,
      also: [...also],
    });
    if (mine !== asked || !around.here()) return; // a later question is under way
    const begins = now.said === null;
    now.said = said;
    around.fault(null);
    if (begins)
      put(
        place,
        h("h1", {}, said.title ?? "Compare"),
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
              curves.draw();
            },
            () => {
              keep();
              refresh();
            },
            around.smooths,
          ),
          curves.element,
        ),
        around.more?.(),
      );
    draw();
    if (begins && !inFile()) findPrompt(rooms.prompt, wish.run, around);
  });
  again(around, refresh, { concerns: (ids) => wish.run.some((id) => ids.includes(id)) });
  await refresh();
  if (!now.said && asked === 1) {
    put(
      place,
      h("h1", {}, "Compare"),
      h("p.empty", {}, "These runs cannot be compared. ", h("a", { href: "/" }, "All runs")),
    );
    return;
  }
  around.keys(
    layer("compare")
      .on("s", "seeds pooled or separate", toggleApart)
      .on(["ArrowLeft", "ArrowRight"], "read a chart that has the focus", () => false)
      .on(["1", "2", "3", "4", "5", "6", "7", "8", "9"], "show or hide that run", (event) => {
        const arm = now.said.arms[Number(event.key) - 1];
        if (arm) toggle(arm.letter);
      }),
  );

  function change(changes) {
    Object.assign(wish, changes);
    keep();
    exams.forget();
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

  function draw() {
    const { said } = now;
    part("notes", said.notes, (notes) =>
      notes.length
        ? h(
            "ul.alarms",
            {},
            notes.map((note) => h("li", {}, note)),
          )
        : null,
    );
    part("legend", [said.arms, [...wish.hide], wish.apart], ([arms]) =>
      armTable(arms, wish, { toggle, drop, toggleApart }),
    );
    part("settings", [said.settings, said.arms.map((arm) => arm.letter)], differingSettings);
    exams.draw(said);
    curves.draw();
  }

  function toggleApart() {
    change({ apart: !wish.apart });
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
}
