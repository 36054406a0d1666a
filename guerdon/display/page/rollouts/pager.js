// From one page of rollouts to the next.

import { h, put } from "/page/dom.js";
import { count } from "/page/numbers.js";

// Into `pager` the buttons that call turn("next") and turn("previous"); a focus that is lost with its button goes to `list`.
export function showPager(pager, { rows, from, total, next, previous }, turn, list) {
  const focused = pager.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
  put(
    pager,
    h(
      "button",
      { type: "button", disabled: !previous, data: { focus: "previous" }, onclick: () => turn("previous") },
      "← Before",
    ),
    h("span.quiet", {}, rows.length ? `${count(from + 1)} to ${count(from + rows.length)} of ${count(total)}` : ""),
    h("button", { type: "button", disabled: !next, data: { focus: "next" }, onclick: () => turn("next") }, "Next →"),
  );
  pager.hidden = !previous && !next;
  if (focused) (pager.querySelector(`[data-focus=${focused}]:enabled`) ?? list).focus({ preventScroll: true });
}
