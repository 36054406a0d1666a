// What changes while the page is open: `onChange(call)` is told the ids of runs that were written to, came or went.

const told = new Set();
let source = null;

export function onChange(call) {
  told.add(call);
  start();
  return () => told.delete(call);
}

function start() {
  if (source) return;
  const state = document.getElementById("state");
  source = new EventSource("/api/live");
  let lost = false;
  source.addEventListener("hello", () => {
    state.textContent = "live";
    state.className = "state live";
    if (lost) for (const call of told) call(null); // anything may have changed meanwhile
    lost = false;
  });
  source.addEventListener("changed", (event) => {
    const { runs } = JSON.parse(event.data);
    for (const call of told) call(runs);
  });
  source.addEventListener("error", () => {
    lost = true;
    state.textContent = "not connected";
    state.className = "state lost";
    if (source.readyState === EventSource.CLOSED) {
      source = null;
      setTimeout(start, 3000);
    }
  });
}
