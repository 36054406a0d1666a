// What is on the bench, as it stands in the address: reload it or send it on, and the same is shown.

import { address } from "/page/asking.js";

export const MOST_TEXTS = 16; // side by side
const LONGEST = 1500; // characters of texts that are kept in the address

export class BenchState {
  constructor(query) {
    // in the address
    this.run = query.get("run") ?? "";
    this.reward = query.get("reward") ?? "";
    this.step = query.get("step");
    this.weights = Object.fromEntries(
      query
        .getAll("w")
        .map((each) => [each.slice(0, each.lastIndexOf(":")), Number(each.slice(each.lastIndexOf(":") + 1))])
        .filter(([, by]) => Number.isFinite(by)),
    );
    this.task = query.get("task") ?? "";
    this.number = Number(query.get("problem") ?? 0) || 0;
    this.rows = []; // {completion, origin}: the texts, and which sample each was
    // what comes with the texts
    this.fields = { prompt: "", answer: "" };
    // what there is to choose from
    this.runs = [];
    this.samples = [];
    this.steps = [];
    this.own = null; // the run's own reward
    // what the server told
    this.about = null; // the reward, once it is open
    this.sample = null; // the one that was picked, with its place
    this.scored = null;
    this.before = null; // what was scored the time before
    this.replayed = null; // the stored step under these weights
    // how it goes on
    this.live = true; // scored as one types
    this.watched = false; // replayed as weights move
  }

  // Which reward, in every question.
  get body() {
    return { run: this.run, reward: this.reward };
  }

  // The name of its file, for words.
  get file() {
    return (this.reward || this.own || "the reward")
      .replace(/:[^:]*$/, "")
      .split("/")
      .pop();
  }

  // Fields as the reward gets them: what is not plain text is JSON.
  given() {
    const known = { ...this.fields };
    for (const [name, value] of Object.entries(known)) {
      if (name === "prompt" || name === "answer") continue;
      delete known[name];
      if (value === "") continue;
      let read;
      try {
        read = JSON.parse(value);
      } catch {
        read = value;
      }
      if (name === "meta" && read && typeof read === "object" && !Array.isArray(read)) Object.assign(known, read);
      else known[name] = read;
    }
    return known;
  }

  // A sample that is as it was sampled needs no text in the address; long texts do not fit.
  address() {
    const texts = this.rows.map((row) => row.completion);
    const plain = this.sample && texts.length === 1 && texts[0] === this.sample.completion;
    const { place } = this.sample ?? {};
    return address("/bench", {
      run: this.run,
      reward: this.reward,
      task: this.run ? "" : this.task,
      problem: this.run || !this.task ? "" : this.number,
      step: this.run ? this.step : "",
      sample: place ? `${place.step}:${place.episode}:${place.segment}` : "",
      w: Object.entries(this.weights).map(([key, by]) => `${key}:${by}`),
      text: plain || texts.join("").length > LONGEST ? [] : texts,
    });
  }
}
