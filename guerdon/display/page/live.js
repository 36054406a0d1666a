// What changes while the page is open: `onChange(call)` is told the ids of what was written to, came or went, or null where
// anything may have.

const PATIENCE = 400; // milliseconds for which the first view waits until changes are noticed
const told = new Set();
let begun = null,
  missed = false; // something may have changed that nobody noticed

export function onChange(call) {
  told.add(call);
  listening();
  return () => told.delete(call);
}

// Until changes are noticed: what is asked for afterwards changes no more without a word. After a moment it waits no longer,
// and then all are told to ask again as soon as somebody looks.
export function listening() {
  begun ??= new Promise((resolve) => {
    const late = setTimeout(lost, PATIENCE);
    function lost() {
      missed = true;
      resolve();
    }
    const heard = () => {
      clearTimeout(late);
      resolve();
    };
    start(heard, lost);
  });
  return begun;
}

function start(heard, lost) {
  const state = document.getElementById("state");
  const source = new EventSource("/api/live");
  source.addEventListener("hello", () => {
    state.textContent = "live";
    state.className = "state live";
    heard();
    const all = missed;
    missed = false;
    if (all) for (const call of told) call(null);
  });
  source.addEventListener("changed", (event) => {
    const { runs } = JSON.parse(event.data);
    for (const call of told) call(runs);
  });
  source.addEventListener("error", () => {
    lost();
    state.textContent = "not connected";
    state.className = "state lost";
    if (source.readyState === EventSource.CLOSED) setTimeout(() => start(heard, lost), 3000);
  });
}
