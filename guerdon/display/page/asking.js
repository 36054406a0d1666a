// Questions to the studio. An answer is JSON; what is wrong is one line, thrown as an Error and shown at the top of the page.

let kept = null; // of a page that is a file: {answer(path, query), addressOf(step, episode)}

// A page that is a file asks no server: it has its answers inside, and leads to what it holds alone.
export function answerFrom(file) {
  kept = file;
}
export function inFile() {
  return kept;
}

export class Refused extends Error {
  constructor(status, answer) {
    super(answer?.error ?? `the studio answered with ${status}`);
    this.status = status;
    this.answer = answer;
  }
}

// get("/api/runs", {search: "grpo", status: ["complete", "stopped"]}, signal); what is empty is left out
export async function get(path, query = {}, signal = undefined) {
  return kept ? kept.answer(path, query) : read(await fetch(address(path, query), { signal }));
}

// The run that was written last, of those that have rollouts: what a room shows where no run is named.
export async function lastRun() {
  return (await get("/api/rollouts/runs")).last ?? "";
}

export async function post(path, body, signal = undefined) {
  return send("POST", path, body, signal);
}
export async function remove(path, body = {}) {
  return send("DELETE", path, body);
}

async function send(method, path, body, signal) {
  return read(
    await fetch(path, { method, body: JSON.stringify(body), signal, headers: { "Content-Type": "application/json" } }),
  );
}

async function read(answer) {
  let content = null;
  try {
    content = await answer.json();
  } catch {
    /* no JSON: the status says it */
  }
  if (!answer.ok) throw new Refused(answer.status, content);
  return content;
}

export function address(path, query = {}) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== null && each !== undefined && each !== "" && each !== false)
        words.append(name, each === true ? "1" : each);
  return words.size ? `${path}?${words}` : path;
}
