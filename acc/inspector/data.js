// Asks the server for the page's data.
async function ask(path, wanted = {}, signal = undefined) {
  const query = new URLSearchParams(wanted).toString();
  try {
    const answer = await fetch(`/api/${path}${query ? `?${query}` : ""}`, { cache: "no-store", signal });
    const value = await answer.json();
    if (answer.ok) return value;
    throw value;
  } catch (error) {
    if (error.name === "AbortError" || error.error) throw error;
    throw { error: "the inspector does not answer", hint: "start acc inspect again" };
  }
}

const data = {
  threads: async () => (await ask("threads")).threads,
  thread: (log, branch, known, mark) => ask("thread", { log, branch, after: known.at(-1)?.version ?? 0, mark }),
  turn: (log, branch, version, signal) => ask("turn", { log, branch, version }, signal),
  source: (log, branch, ref) => ask("source", { log, branch, ref }),
};

// Calls `changed` with the logs that changed, while the page is seen; `state` gets a word and why.
function listen(changed, state) {
  let stream = null;
  const open = () => {
    if (stream || document.hidden) return;
    stream = new EventSource("/api/changes");
    stream.addEventListener("change", event => {
      state("live");
      changed(JSON.parse(event.data).logs);
    });
    stream.addEventListener("fault", event => state("fault", JSON.parse(event.data).error));
    stream.addEventListener("error", () => {
      state("away");
      if (stream.readyState !== EventSource.CLOSED) return;
      close();
      setTimeout(open, 3000);
    });
  };
  const close = () => {
    stream?.close();
    stream = null;
  };
  // A browser opens few streams to one host: a hidden tab must not hold one.
  document.addEventListener("visibilitychange", () => document.hidden ? close() : open());
  open();
}
