// Exams of compared runs: the rates at once, how far arms lie apart one after the other, for that may take a while.

import { get, inFile } from "/page/asking.js";
import { h, put } from "/page/dom.js";
import { minus } from "/page/runs/run_words.js";

// Draws into the part "exams" of `kept`; `change` takes another number of the exams. Gives {draw(said), forget()}: what was
// compared is compared anew after forget().
export function comparedExams({ kept, wish, around, change }) {
  const place = kept.rooms.exams;
  let compared = ""; // what the differences were asked for

  function draw(said) {
    const letters = said.arms.map((arm) => arm.letter);
    const rates = said.arms.map((arm) => [arm.letter, arm.rates]);
    kept.part("exams", [said.metric, said.metrics, rates], ([metric, metrics, arms]) => {
      forget();
      return rateTable(metric, metrics, arms, change);
    });
    if (said.metric) fillApart(letters.slice(1), said.metric);
  }

  function forget() {
    compared = "";
  }

  async function fillApart(letters, metric) {
    const asked = JSON.stringify([wish.run, metric, wish.apart, kept.saidIn("exams")]);
    if (compared === asked) return;
    compared = asked;
    const busy = place.querySelector("[data-busy]");
    for (const [n, letter] of letters.entries()) {
      put(busy, `comparing problem by problem, ${n + 1} of ${letters.length}`);
      try {
        const between = await get("/api/runs/compare/difference", {
          run: wish.run,
          metric,
          apart: wish.apart,
          arm: letter,
          at: "after",
        });
        if (!around.here() || compared !== asked) return;
        const tone = { higher: "good", lower: "bad" }[between.verdict] ?? "";
        put(
          place.querySelector(`[data-apart="${CSS.escape(letter)}"]`),
          h("span", { class: tone }, minus(between.words)),
        );
      } catch (error) {
        if (around.here()) around.fault(error);
        break;
      }
    }
    put(busy);
  }

  return { draw, forget };
}

function rateTable(metric, metrics, arms, change) {
  if (!metric) return [h("h2", {}, "Exams"), h("p.quiet", {}, "These runs have no number of an exam in common.")];
  const [[first]] = arms; // the letter of the first
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
    h("div.toolbar", {}, inFile() ? h("span.quiet", {}, metric) : h("label", {}, "by", choose), h("span.quiet", { role: "status", data: { busy: "" } })),
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
            ["", "before", "after", `after, less ${first}`].map((words) => h("th", { scope: "col" }, words)),
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
                letter === first ? h("span.quiet", {}, "the reference of the comparison") : "…",
              ),
            ),
          ),
        ),
      ),
    ),
  ];
}
