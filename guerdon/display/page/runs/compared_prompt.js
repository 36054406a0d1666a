// The prompt on which compared runs differ most, with the way to read them side by side.

import { address, get } from "/page/asking.js";
import { h, put } from "/page/dom.js";

export async function findPrompt(place, runs, around) {
  put(place, h("p.quiet", { role: "status" }, "Looking for a prompt on which they differ…"));
  try {
    const { task, prompt, sides, column, note } = await get("/api/runs/compare/prompt", { run: runs });
    if (!around.here()) return;
    if (sides.length < 2) {
      put(place, h("p.quiet", {}, note));
      return;
    }
    const [left, ...others] = sides;
    put(
      place,
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
    if (around.here()) put(place, h("p.quiet", {}, error.message));
  }
}
