// Which run is labelled? The list of those that have stored what they sampled.

import { address, get } from "/page/asking.js";
import { h, put } from "/page/dom.js";
import { count } from "/page/numbers.js";

export async function chooseRun(place, around) {
  around.title("Labels");
  const { runs } = await get("/api/labels/runs");
  put(
    place,
    h("h1", {}, "Labels"),
    runs.length
      ? [
          h("p.quiet", {}, "Say what is right, wrong or a hack in what a run sampled. Which run?"),
          h(
            "div.scroll",
            {},
            h(
              "table",
              {},
              h(
                "thead",
                {},
                h(
                  "tr",
                  {},
                  ["run", "recipe", "steps kept", "labels"].map((words, n) =>
                    h(n > 1 ? "th.num" : "th", { scope: "col" }, words),
                  ),
                ),
              ),
              h(
                "tbody",
                {},
                runs.map((each) =>
                  h(
                    "tr",
                    {},
                    h("td", {}, h("a", { href: address("/labels", { run: each.id }) }, each.name)),
                    h("td", {}, each.recipe),
                    h("td.num", {}, count(each.steps)),
                    h("td.num", {}, count(each.labels)),
                  ),
                ),
              ),
            ),
          ),
        ]
      : h(
          "p.empty",
          {},
          "No run here has stored what it sampled. Train one: ",
          h("code", {}, "guerdon train grpo --task countdown:3"),
        ),
  );
}
