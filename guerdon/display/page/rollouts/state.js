// What is asked of rollouts, as it stands in the address: reload it or send it on, and the same is shown.

export const FILTERS = [
  "step",
  "text",
  "kind",
  "family",
  "level",
  "role",
  "end",
  "ask",
  "episode",
  "length",
  "where",
  "reason",
  "learned",
  "task",
  "label",
];
const MANY = new Set(["kind", "family", "role", "end", "where", "reason", "learned", "label", "run", "show"]);
const KEPT = ["run", ...FILTERS, "sort", "after", "before", "show"];

export class Asked {
  constructor(query) {
    this.values = Object.fromEntries(KEPT.map((name) => [name, query.getAll(name).filter(Boolean)]));
  }

  all(name) {
    return this.values[name];
  }
  one(name) {
    return this.values[name][0] ?? "";
  }
  has(name, value) {
    return this.values[name].includes(value);
  }

  // Another filter or order begins at the first page.
  set(name, ...values) {
    this.values[name] = values.filter((value) => value !== "" && value !== null && value !== undefined).map(String);
    if (name !== "after" && name !== "before" && name !== "show") this.values.after = this.values.before = [];
  }

  toggle(name, value) {
    const without = this.values[name].filter((each) => each !== value);
    this.set(
      name,
      ...(without.length < this.values[name].length ? without : MANY.has(name) ? [...without, value] : [value]),
    );
  }

  // where=COLUMN:RANGE, one for each column
  range(column) {
    return (
      this.values.where.find((each) => each.slice(0, each.lastIndexOf(":")) === column)?.slice(column.length + 1) ?? ""
    );
  }
  setRange(column, range) {
    const others = this.values.where.filter((each) => each.slice(0, each.lastIndexOf(":")) !== column);
    this.set("where", ...others, range && `${column}:${range}`);
  }

  clear() {
    for (const name of FILTERS) this.set(name);
  }
  get filters() {
    return FILTERS.flatMap((name) => this.values[name].map((value) => [name, value]));
  }
  get query() {
    return Object.fromEntries(Object.entries(this.values).filter(([name, all]) => all.length && name !== "show"));
  }
  get address() {
    const words = new URLSearchParams(KEPT.flatMap((name) => this.values[name].map((value) => [name, value])));
    return words.size ? `/rollouts?${words}` : "/rollouts";
  }
}

export const keyOf = (row) => JSON.stringify([row.run, row.step, row.episode, row.segment]);
export const shortName = (name) => name.split("/").filter(Boolean).pop() ?? name;
