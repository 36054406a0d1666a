// What went wrong in a run, with the way to the rollouts.

import { h } from "/page/dom.js";
import { count } from "/page/numbers.js";

export function alarmList(alarms, fold) {
  if (!alarms.length) return null;
  return [
    h("h2", { id: "alarms" }, "Alarms"),
    h(
      "ul.alarms",
      {},
      alarms.map((alarm, n) =>
        h(
          "li",
          { class: `level-${alarm.level}` },
          h(
            "div",
            {},
            h("b", {}, alarm.title),
            alarm.step === null ? null : h("span.quiet", {}, ` step ${count(alarm.step)}`),
            alarm.count > 1 ? h("span.quiet", {}, ` × ${count(alarm.count)}`) : null,
            alarm.rollouts ? h("a.to", { href: alarm.rollouts, data: { key: `alarm ${n}` } }, "the rollouts →") : null,
          ),
          h("div.message", {}, alarm.message),
          alarm.detail ? fold(`alarm ${alarm.title}`, "the first exception", h("pre", {}, alarm.detail)) : null,
        ),
      ),
    ),
  ];
}
