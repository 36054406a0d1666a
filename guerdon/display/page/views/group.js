// All tries at one ask.

import { address, get } from "/page/asking.js";
import { h, put } from "/page/dom.js";
import { Roving } from "/page/lists.js";
import { count } from "/page/numbers.js";
import { groupPath, rolloutPath, strip, tryTable } from "/page/reading/tries.js";
import { askedOf } from "/page/reading/turns.js";
import { waiting } from "/page/reading/waiting.js";

export async function show(place, around) {
  const { run, step, ask } = around.params;
  around.title(`Group ${ask}`);
  const group = await waiting(place, "Reading the group …", get("/api/reading/group", { run, step, ask }));
  if (!around.here()) return;
  const list = [];
  const parts = group.roles.map((role) => {
    const { element, rows } = tryTable(group, role, run);
    role.tries.forEach((one, n) => list.push({ row: rows[n], one }));
    const shown = role.tries.reduce((sum, one) => sum + 1 + one.same.length, 0);
    return h(
      "section",
      {},
      group.roles.length > 1 ? h("h2", {}, role.role) : null,
      strip({ ...group, roles: [role] }, { run, episode: null, segment: null }),
      element,
      shown < role.in_all ? h("p.quiet", {}, `${count(shown)} of ${count(role.in_all)} are shown`) : null,
    );
  });
  const near = (to, words) => (to ? h("a", { href: groupPath(run, step, to) }, words) : h("span.quiet", {}, words));
  put(
    place,
    h(
      "div.group-view",
      {},
      h(
        "header.card-head",
        {},
        h(
          "div.names",
          {},
          h("h1", {}, `Ask ${ask}`),
          h("span.quiet", {}, `step ${step} of `),
          h("a", { href: `/run/${encodeURIComponent(run)}` }, group.run_name.split("/").pop()),
        ),
        h(
          "nav.card-links",
          { aria: { label: "This group" } },
          near(group.before, "ask before"),
          near(group.after, "next ask"),
          h(
            "a",
            { href: address("/beside", { task: group.task.key, left: `${run}:${step}` }) },
            "same prompt elsewhere",
          ),
        ),
      ),
      h("section.asked", {}, askedOf(group.task)),
      parts,
      group.broken.length
        ? h(
            "ul",
            {},
            group.broken.map((each) =>
              h(
                "li",
                {},
                h("a", { href: rolloutPath(run, step, each.episode) }, each.episode),
                h("span.bad", {}, ` ${each.error}`),
              ),
            ),
          )
        : null,
    ),
  );
  const roving = new Roving({
    open: (n) => around.go(rolloutPath(run, step, list[n].one.episode, list[n].one.segment)),
  });
  roving.set(list.map((each) => each.row));
  around.keys(
    roving
      .keys("tries")
      .on("]", "next ask of the step", () => group.after && around.go(groupPath(run, step, group.after)))
      .on("[", "the ask before", () => group.before && around.go(groupPath(run, step, group.before)))
      .on("e", "the same prompt elsewhere", () =>
        around.go(address("/beside", { task: group.task.key, left: `${run}:${step}` })),
      ),
  );
}
