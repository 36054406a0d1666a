// Evidence: what came of the claims of recipes, as it ships with the package.

import { address, get } from "/page/asking.js";
import { dotChart } from "/page/charts/dot_chart.js";
import { lineChart } from "/page/charts/line_chart.js";
import { copyable, line as copyLine } from "/page/copying.js";
import { h, once, put } from "/page/dom.js";
import { Roving } from "/page/lists.js";
import { number, plural } from "/page/numbers.js";
import { lineKey } from "/page/runs/curve_parts.js";
import { capital, minus } from "/page/runs/run_words.js";

const TONES = { ahead: "good", behind: "bad", "no difference": "", inconclusive: "wait", screening: "" };
const HUES = { method: 0, baseline: 1, ablation: 7, plain: 2 };
const WORDS = {
  task: "task",
  levels: "levels",
  model: "model",
  settings: "settings",
  method: "the method's",
  metric: "metric",
  better: "better is",
  effect: "smallest effect that counts",
  kind: "a claim to be",
  keeps: "must keep",
  bound: "bound",
  along: "along",
};

const ORDERS = [["result", "by result"]];
const RANKS = ["ahead", "no difference", "inconclusive", "behind", "screening"];

const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

export async function show(place, around) {
  if (around.params.name) await one(place, around);
  else await list(place, around);
}

async function list(place, around) {
  around.title("Evidence");
  put(place, h("h1", {}, "Evidence"), h("p.quiet", { role: "status" }, "Reading what ships with the package…"));
  const { claims } = await get("/api/runs/evidence");
  if (!around.here()) return;
  const wish = {
    family: around.query.get("family") ?? "",
    word: around.query.get("word") ?? "",
    stale: around.query.get("stale") ?? "",
    search: around.query.get("search") ?? "",
    order: around.query.get("order") ?? "",
  };
  const keep = () => around.keepInAddress(address("/evidence", wish));
  const search = h("input", {
    type: "search",
    value: wish.search,
    placeholder: "Part of a recipe or a claim",
    aria: { label: "Search evidence" },
    data: { search: "" },
    oninput: once(150, () => {
      wish.search = search.value;
      keep();
      draw();
    }),
  });
  const body = h("tbody", {}),
    state = h("span.quiet", { role: "status" });
  const rows = new Roving({ open: (n) => around.go(rows.rows[n].dataset.href) });
  around.keys(rows.keys("evidence"));
  const select = (name, values, first = `all (${claims.length})`) =>
    h(
      "label",
      {},
      name,
      h(
        "select",
        {
          onchange: (event) => {
            wish[name] = event.target.value;
            keep();
            draw();
          },
        },
        [["", first], ...values].map(([word, said]) =>
          h("option", { value: word, selected: wish[name] === word }, said),
        ),
      ),
    );
  const counted = (key) => [...Map.groupBy(claims, key)].sort().map(([word, all]) => [word, `${word} (${all.length})`]);
  put(
    place,
    h("h1", {}, "Evidence"),
    h(
      "p.lead",
      {},
      "What came of the claims of recipes: each against its baseline at an equal budget, over paired seeds, by a rule that was fixed before anything was run. Differences are positive where the method is better.",
    ),
    h(
      "div.toolbar",
      {},
      search,
      select("order", ORDERS, "by recipe"),
      select(
        "family",
        counted((each) => each.family),
      ),
      select(
        "word",
        counted((each) => each.word),
      ),
      select(
        "stale",
        counted((each) => (each.stale ? "stale" : "of today's code")),
      ),
      state,
    ),
    h(
      "div.scroll",
      {},
      h(
        "table.evidence-table",
        { aria: { label: "Claims" } },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["recipe", "word", "difference (95 %)", "seeds", "claim", "family", "", "command"].map((words) =>
              h(["difference (95 %)", "seeds"].includes(words) ? "th.num" : "th", { scope: "col" }, words),
            ),
          ),
        ),
        body,
      ),
    ),
  );
  draw();

  function draw() {
    const fit = claims.filter(
      (each) =>
        (!wish.family || each.family === wish.family) &&
        (!wish.word || each.word === wish.word) &&
        (!wish.stale || (each.stale ? "stale" : "of today's code") === wish.stale) &&
        wordsOf(wish.search).every((word) => `${each.name} ${each.says} ${each.family}`.toLowerCase().includes(word)),
    );
    if (wish.order) fit.sort((a, b) => RANKS.indexOf(a.word) - RANKS.indexOf(b.word) || (b.size ?? -Infinity) - (a.size ?? -Infinity));
    const elements = fit.map((each) =>
      h(
        "tr",
        { data: { href: `/evidence/${encodeURIComponent(each.name)}` } },
        h("td", {}, h("a", { href: `/evidence/${encodeURIComponent(each.name)}` }, each.name)),
        h("td", {}, h("span.chip", { class: TONES[each.word] ?? "" }, each.badge)),
        h("td.num", {}, minus(each.difference)),
        h("td.num", {}, each.seeds),
        h("td.claim", {}, each.says),
        h("td", {}, each.family),
        h("td.quiet.notes", {}, [...each.notes, each.stale ? "stale" : ""].filter(Boolean).join("; ")),
        h("td.command", {}, h("code", {}, each.command), " ", copyable(each.command, `Copy ${each.command}`)),
      ),
    );
    put(body, elements);
    rows.set(elements);
    put(
      state,
      fit.length === claims.length
        ? plural(claims.length, "claim")
        : `${fit.length} of ${plural(claims.length, "claim")}`,
      fit.length ? "" : ": none fits",
    );
  }
}

async function one(place, around) {
  around.title(around.params.name);
  put(place, h("p.quiet", { role: "status" }, "Reading what ships with the package…"));
  const proof = await get(`/api/runs/evidence/${encodeURIComponent(around.params.name)}`).catch((error) => {
    put(place, h("p", {}, h("a", { href: "/evidence" }, "All evidence")));
    throw error;
  });
  if (!around.here()) return;
  const paper = proof.paper.startsWith("arXiv:")
    ? h(
        "a",
        {
          href: `https://arxiv.org/abs/${encodeURIComponent(proof.paper.slice(6))}`,
          rel: "noreferrer",
          target: "_blank",
        },
        proof.paper,
      )
    : proof.paper;
  put(
    place,
    h("p.crumbs", {}, h("a", { href: "/evidence" }, "Evidence"), h("span.quiet", {}, ` / ${proof.family}`)),
    h("h1", {}, proof.name),
    h("p", {}, proof.about, " ", paper),
    proof.needs ? h("p.quiet", {}, `Needs ${proof.needs}.`) : null,
    proof.quick ? h("p.bad", {}, "A quick look, with few seeds and a tenth of the budget: not evidence.") : null,
    proof.stale ? h("p.wait", {}, `Stale: ${proof.stale}. The command below runs it again.`) : null,
    proof.others.length
      ? h(
          "p",
          {},
          "With another model: ",
          proof.others.map((name, n) => [
            n ? ", " : "",
            h("a", { href: `/evidence/${encodeURIComponent(name)}` }, name),
          ]),
        )
      : null,
    h("p", {}, h("a", { href: address("/", { recipe: proof.recipe }) }, `Runs of ${proof.recipe}`)),
    proof.claims.map(claim),
    h("h2", {}, "Measured with"),
    h(
      "p.quiet",
      {},
      Object.entries(proof.versions)
        .map(([name, said]) =>
          name === "at_a_time"
            ? `${said} runs at a time`
            : name === "device" || name === "model"
              ? said
              : `${name} ${said}`,
        )
        .join(", "),
      `, ${proof.created}`,
    ),
    copyLine(proof.command),
  );
}

function claim(said) {
  const lines = said.arms.filter((arm) => arm.curve.length);
  const { setting } = said;
  const curves = lines.length
    ? lineChart({
        label: `${setting.metric}${setting.task ? ` on ${setting.task}` : ""}`,
        xWords: setting.unit,
        height: 230,
        latest: "means with their 95 % intervals",
        series: lines.map((arm, n) => ({
          name: arm.name,
          hue: HUES[arm.name] ?? (n + 3) % 8,
          dash: n % 4,
          x: arm.curve.map((p) => p.spent),
          y: arm.curve.map((p) => p.mean),
          low: arm.curve.map((p) => p.low),
          high: arm.curve.map((p) => p.high),
        })),
      })
    : null;
  const [first, ...others] = said.against;
  const columns = [first, ...others].map((gap) => ({
    name: gap.name === "baseline" && ["slope", "bound"].includes(setting.kind) ? "seeds" : gap.name,
    hue: HUES[gap.name] ?? 0,
    dots: gap.differences.slice(0, gap.first),
    mean: gap.mean,
    low: gap.low,
    high: gap.high,
  }));
  if (first && first.differences.length > first.first)
    columns.splice(1, 0, { name: "fresh seeds", hue: 1, dots: first.differences.slice(first.first), hollow: true });
  const gaps = first
    ? dotChart({
        label: "Method less the others",
        columns,
        effect: first.effect,
        height: 230,
        latest: "a dot a seed, the mean with its 95 % interval; shaded: too small to count",
      })
    : null;
  const pairs = Object.entries(WORDS)
    .filter(([key]) => setting[key] !== undefined)
    .map(([key, words]) => [
      words,
      Array.isArray(setting[key])
        ? setting[key].join(", ")
        : typeof setting[key] === "number"
          ? number(setting[key])
          : setting[key],
    ]);
  pairs.splice(3, 0, ["budget", `${setting.budget?.toLocaleString("en")} ${setting.unit} a run`]);
  return h(
    "section.claim",
    {},
    h("h2", {}, said.says),
    h(
      "p",
      {},
      h("span.chip.verdict", { class: TONES[said.word] ?? "" }, said.badge),
      ` ${capital(said.meaning)}. `,
      said.outcome.length ? `${capital(said.outcome.join("; "))}. ` : "",
      said.registration ? h("span.quiet", {}, `${capital(said.registration)}.`) : "",
    ),
    said.unfinished ? h("p.wait", {}, `${capital(said.unfinished)}. What stands here may change.`) : null,
    h("p", {}, `${capital(minus(said.measured))}.`),
    said.failed ? h("p.wait", {}, `${capital(said.failed)}.`) : null,
    h(
      "div.claim-charts",
      {},
      curves
        ? h(
            "div.card",
            {},
            curves.element,
            h(
              "p.legend-line",
              {},
              lines.map((arm, n) => h("span", {}, lineKey(HUES[arm.name] ?? (n + 3) % 8, n % 4), ` ${arm.name}`)),
            ),
          )
        : null,
      gaps ? h("div.card", {}, gaps.element) : null,
    ),
    h(
      "div.scroll",
      {},
      h(
        "table",
        { aria: { label: "Arms" } },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["arm", "recipe", "seeds", "score", "learning rate", "method less it (95 %)"].map((words, n) =>
              h(n > 1 ? "th.num" : "th", { scope: "col" }, words),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          said.arms.map((arm) =>
            h(
              "tr",
              {},
              h("td", {}, arm.name),
              h("td.mono", {}, arm.what),
              h("td.num", {}, arm.seeds),
              h("td.num", {}, arm.score),
              h("td.num", {}, arm.lr === null ? "" : String(arm.lr)),
              h("td.num", {}, minus(said.against.find((gap) => gap.name === arm.name)?.words ?? "")),
            ),
          ),
        ),
      ),
    ),
    said.quality
      ? h("p", {}, `What it must keep, ${said.quality.keeps}: ${minus(said.quality.words)}.`)
      : null,
    h(
      "details",
      {},
      h("summary", {}, "What was run"),
      h(
        "dl.pairs",
        {},
        pairs.filter(([, v]) => v !== undefined && v !== "").map(([words, v]) => [h("dt", {}, words), h("dd", {}, v)]),
      ),
    ),
    said.gates.length
      ? h(
          "details",
          {},
          h("summary", {}, "Gates"),
          h(
            "ul",
            {},
            said.gates.map((gate) =>
              h("li", {}, h("b", {}, gate.gate), ` ${gate.open ? "passed" : "failed"}: ${gate.why}`),
            ),
          ),
        )
      : null,
  );
}
