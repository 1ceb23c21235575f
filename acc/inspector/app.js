// The page: the list of threads, one thread, and how one gets from turn to turn.
let threads = [], log = "", branch = "", known = [], path = [], place = 0, chart = null, mode = "budget", waiting = null, shownTurn = null;
const details = new Map(), MOST_DETAILS = 60, MOST_ROWS = 200;

const notice = error => fill("notice", error ? made("p", { class: "notice" }, error.error ?? String(error), error.hint ? made("span", { class: "hint" }, `To fix: ${error.hint}`) : null) : null);

// What loads runs one after the other: a change that comes meanwhile must find the turn that was asked for.
let busy = Promise.resolve();
const inTurn = load => { busy = busy.then(load).catch(notice); };

function route() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (page.live && !wanted.get("log")) return showList();
  return showThread(wanted.get("log") ?? "", wanted.get("at"));
}

// Lets go of a thread's texts: an erasure must find none in a page that is open.
function leave() {
  known = [];
  path = [];
  details.clear();
  shownTurn = null;
  waiting?.abort();
  for (const each of ["turn", "facts", "thread-title"]) fill(each);
  by("drawer").close();
}

async function showList() {
  log = "";
  leave();
  by("thread").hidden = true;
  by("list").hidden = false;
  fill("crumb");
  document.title = "ACC inspector";
  try {
    threads = await data.threads();
    notice(null);
  } catch (error) {
    notice(error);
  }
  listThreads();
}

function listThreads() {
  const words = by("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const told = row => [row.thread, row.user, row.agent, row.tenant, row.outcome, row.log].join(" ").toLowerCase();
  const found = threads.filter(row => words.every(word => told(row).includes(word)))
    .sort((one, other) => (one.at ?? "") < (other.at ?? "") ? 1 : -1);
  by("count").textContent = words.length ? `${found.length} of ${plural(threads.length, "thread")}` : plural(threads.length, "thread");
  if (!found.length) return fill("threads", empty(threads.length ? "No thread matches." : "No thread has a commit yet. A turn appears here when it is committed."));
  const head = ["Thread", "Tenant / user / agent", "Turn", "Tokens", "Outcome", "Last turn"];
  const rows = found.slice(0, MOST_ROWS).map(row => made("tr", {},
    made("td", { class: "name" }, made("a", { href: `#${new URLSearchParams({ log: row.log })}` }, cut(row.thread ?? row.log))),
    ...(row.fault ? [made("td", { colspan: 5 }, badge("damaged", "removed"), ` ${row.fault}`)] : [
      made("td", { "data-head": "for" }, cut(`${row.tenant} / ${row.user} / ${row.agent}`)), made("td", { class: "right", "data-head": "turn" }, number(row.turn)),
      made("td", { class: "right", "data-head": "tokens" }, made("span", { class: "gauge" }, meter(row.tokens, row.limit, `${row.tokens} of ${row.limit} tokens`), made("span", {}, number(row.tokens)))),
      made("td", { "data-head": "outcome" }, badge(row.outcome, row.failed ? "removed" : "added")), made("td", { class: "soft when" }, time(row.at))])));
  fill("threads", made("table", {}, made("thead", {}, made("tr", {}, head.map((name, n) => made("th", { scope: "col", class: n === 2 || n === 3 ? "right" : "" }, name)))), made("tbody", {}, rows)),
    found.length > MOST_ROWS ? empty(`The newest ${MOST_ROWS} of ${number(found.length)} are shown. Search for the others.`) : null);
}

const cut = (text, most = 120) => text.length > most ? `${text.slice(0, most)}…` : text;

async function showThread(name, at) {
  if (name !== log || !path.length) {
    log = name;
    known = [];
    branch = "";
    details.clear();
    mode = "budget";
    try {
      await update();
      notice(null);
    } catch (error) {
      notice(error);
      by("thread").hidden = true;
      return;
    }
    by("list").hidden = true;
    by("thread").hidden = false;
    if (at === null || at === undefined) by("follow").checked = page.live;
  }
  const index = at === null || at === undefined ? path.length - 1 : path.findIndex(entry => entry.position >= +at);
  go(index < 0 ? path.length - 1 : index, false);
}

// Reads the turns that came since; the path leads to the newest record, or to the chosen branch's newest.
async function update() {
  const asked = log, more = await data.thread(log, known);
  if (asked !== log) return;
  const rewritten = more.after === 0 && known.length > 0;
  const entries = known = [...known.slice(0, more.after), ...more.entries];
  if (rewritten) {
    details.clear();
    fill("turn");
    by("drawer").close();
  }
  entries.forEach((entry, position) => { entry.position = position; });
  const found = [];
  const tip = entries.findLastIndex(entry => !branch || entry.branch === branch);
  for (let position = tip; position !== null && position >= 0; position = entries[position].prior) found.push(entries[position]);
  path = found.reverse();
  let heard = 0;
  for (const entry of path) entry.heard = heard += entry.said;
  await frame(more.faults);
}

async function frame(faults) {
  if (!path.length) throw { error: "this thread has no commit that can be read", hint: faults.join("; ") };
  const newest = path.at(-1), turn = await detail(newest.position), names = turn.thread;
  fill("thread-title", shown(cut(names.thread)));
  document.title = `${cut(names.thread, 40)} · ACC inspector`;
  fill("crumb", shown(`/ ${cut(names.thread, 40)}`));
  const facts = [["Tenant", names.tenant ?? "default"], ["User", names.user ?? "default"], ["Agent", names.agent ?? "default"], ["Turns", number(newest.turn)],
    ["State", `${number(newest.tokens)} of ${number(newest.limit)} tokens`], ["Transcript", `${number(newest.heard)} tokens`], ["Last outcome", newest.outcome], ["Last commit", time(newest.at)]];
  const branches = [...new Set(known.map(entry => entry.branch))];
  const choice = made("select", { "aria-label": "Branch", change: event => inTurn(async () => { branch = event.target.value; await update(); go(path.length - 1); }) },
    branches.map(name => made("option", { value: name, selected: name === newest.branch }, cut(name, 24))));
  if (branches.length > 1) facts.push(["Branch", choice]);
  fill("facts", facts.map(([name, text]) => made("div", {}, made("dt", {}, name), made("dd", {}, text instanceof Node ? text : cut(text)))));
  if (faults.length) notice({ error: `Records that cannot be read: ${faults.join("; ")}`, hint: "run acc verify, and restore the log from a backup" });
  fill("thread-acts", page.operator ? made("details", { class: "menu" }, made("summary", {}, "Operator"), made("div", { class: "acts" }, [
    made("button", { type: "button", click: () => act("Hold this thread", { act: "hold", log }, { needsReason: true }) }, "Hold thread"),
    made("button", { type: "button", click: () => act("Release the hold on this thread", { act: "release", log }, { asksReason: false }) }, "Release hold"),
    made("button", { type: "button", class: "danger", click: () => act("Erase this thread", { act: "erase", what: "thread", log }, { asksReason: false, danger: true }, showFront) }, "Erase thread"),
    made("button", { type: "button", class: "danger", click: () => act("Erase this user", { act: "erase", what: "user", log }, { asksReason: false, danger: true }, showFront) }, "Erase user")])) : []);
  for (const input of ["slider", "number"]) by(input).max = path.length - 1;
  by("number").max = newest.turn;
  drawChart();
}

const showFront = () => { location.hash = ""; };

function drawChart() {
  const kinds = Object.keys(CHARTS).filter(kind => kind === "budget" || seriesOf(CHARTS[kind], path).length);
  if (!kinds.includes(mode)) mode = "budget";
  fill("modes", kinds.map(kind => made("button", { type: "button", "aria-pressed": String(kind === mode), click: () => { mode = kind; drawChart(); mark(); } }, CHARTS[kind].label)));
  chart = chartOf(mode, path, index => go(index));
  fill("chart", chart.box);
}

function mark() {
  chart.mark(place);
  fill("legend", chart.legend(place));
}

async function detail(position, signal) {
  const key = known[position].digest;
  if (!details.has(key)) {
    details.set(key, await data.turn(log, position, signal));
    if (details.size > MOST_DETAILS) details.delete(details.keys().next().value);
  }
  return details.get(key);
}

// Shows the turn at a place of the path: the numbers at once, the details when they have come.
function go(index, byHand = true) {
  place = Math.max(0, Math.min(path.length - 1, index));
  const entry = path[place];
  if (byHand) by("follow").checked = page.live && place === path.length - 1;
  by("slider").value = place;
  by("slider").setAttribute("aria-valuetext", `turn ${entry.turn}, ${entry.tokens} tokens`);
  by("number").value = entry.turn;
  by("before").disabled = place === 0;
  by("after").disabled = place === path.length - 1;
  const kind = { turn: "", operator: " · operator's act", erasure: " · erasure" }[entry.kind];
  fill("where", shown(`of ${number(path.at(-1).turn)}${kind} · ${number(entry.tokens)} tokens · ${entry.outcome}${entry.at ? ` · ${time(entry.at)}` : ""}`));
  mark();
  const hash = new URLSearchParams({ ...(log ? { log } : {}), at: entry.position });
  history.replaceState(null, "", `#${hash}`);
  waiting?.abort();
  waiting = new AbortController();
  const { signal } = waiting;
  const isKnown = details.has(entry.digest);
  setTimeout(() => signal.aborted || open(entry, signal), isKnown ? 0 : 40);
}

async function open(entry, signal) {
  try {
    const turn = await detail(entry.position, signal);
    if (signal.aborted) return;
    shownTurn = [turn, entry];
    again();
  } catch (error) {
    if (error.name !== "AbortError") notice(error);
  }
}

const again = () => fill("turn", turnView(...shownTurn, { openItem, openSource, again }));

function opened(heading, ...parts) {
  fill("drawer-title", shown(heading));
  fill("drawer-body", parts);
  if (!by("drawer").open) by("drawer").showModal();
  by("drawer-body").scrollTop = 0;
}

async function openItem(item) {
  const position = path[place].position, from = path.findIndex(entry => entry.turn >= item.turn && entry.kind === "turn");
  const facts = [["Slot", title(item.slot)], ["Trust", (item.trust ?? "") + (item.endorsed ? ", endorsed by the user" : "")], ["Came in turn", String(item.turn)]];
  if (item.quote) facts.push(["Quoted words", item.quote]);
  if (item.dated) facts.push(["Time", [`said ${time(item.dated.said)}`, item.dated.until ? `until ${time(item.dated.until)}` : "", item.dated.expired ? "expired" : ""].filter(Boolean).join(", ")]);
  if (item.reason) facts.push(["Left the state", item.reason]);
  const list = made("dl", { class: "pairs" }, facts.map(([name, text]) => [made("dt", {}, name), made("dd", {}, text)]));
  const links = made("div", { class: "acts" }, from >= 0 && from !== place ? made("button", { type: "button", click: () => { by("drawer").close(); go(from); } }, `Go to turn ${item.turn}`) : null,
    page.operator && !item.reason ? made("button", { type: "button", class: "danger", click: () => act(`Retire ${item.id}`, { act: "retire", log, ids: [item.id] }) }, "Retire item") : null);
  const sources = made("div", {}, empty("Reading the sources…"));
  opened(item.id, made("p", { class: "big" }, item.words), list, links, made("h3", {}, "Sources in the evidence"), sources);
  const texts = await Promise.all((item.sources ?? []).map(ref => sourceView(ref, position, item.quote ?? "")));
  fill(sources, texts.length ? texts : empty("The item names no source."));
}

async function openSource(ref) {
  opened(ref, empty("Reading…"));
  fill("drawer-body", await sourceView(ref, path[place].position, ""));
}

async function sourceView(ref, position, quote) {
  let source;
  try {
    source = await data.source(log, position, ref);
  } catch (error) {
    source = { ref, unavailable: error.error ?? String(error) };
  }
  if (source.unavailable) return made("article", { class: "message" }, made("header", {}, made("code", {}, ref)), made("p", { class: "notice" }, `Unavailable: ${source.unavailable}`));
  const acts = page.operator ? made("div", { class: "acts" },
    made("button", { type: "button", click: () => act(`Hold ${ref}`, { act: "hold", log, ref }, { needsReason: true }) }, "Hold"),
    made("button", { type: "button", click: () => act(`Release the hold on ${ref}`, { act: "release", log, ref }, { asksReason: false }) }, "Release hold"),
    made("button", { type: "button", class: "danger", click: () => act(`Erase ${ref}`, { act: "erase", what: "evidence", log, ref }, { asksReason: false, danger: true }) }, "Erase")) : null;
  return made("article", { class: `message ${source.channel}` }, made("header", {}, badge(source.channel, source.channel), source.name ? made("b", {}, source.name) : null, made("code", {}, ref), made("span", { class: "soft" }, `in the record of turn ${source.turn}`)),
    said(source.text, { most: 2400, quote, leftOut: source.left_out }), acts);
}

async function changed(logs) {
  if (!log) return showList();
  if (logs.length && !logs.includes(log)) return;
  const follow = by("follow").checked, before = path[place]?.digest;
  try {
    await update();
    const index = path.findIndex(entry => entry.digest === before);
    go(follow || index < 0 ? path.length - 1 : index, false);
  } catch (error) {
    const rows = await data.threads().catch(() => null);
    if (rows && !rows.some(row => row.log === log)) {
      history.replaceState(null, "", "#");
      await showList();
    }
    notice(error);
  }
}

const STATES = { live: "Live", away: "Reconnecting", fault: "The logs cannot be read", file: "Exported page" };
function state(word, why = "") {
  by("live").dataset.state = word;
  by("live").textContent = STATES[word];
  if (word === "fault") notice({ error: why });
}

by("slider").addEventListener("input", event => go(+event.target.value));
by("number").addEventListener("change", event => {
  const index = path.findIndex(entry => entry.turn >= +event.target.value);
  go(index < 0 ? path.length - 1 : index);
});
by("before").addEventListener("click", () => go(place - 1));
by("after").addEventListener("click", () => go(place + 1));
by("follow").addEventListener("change", event => { if (event.target.checked) go(path.length - 1); });
by("search").addEventListener("input", listThreads);
addEventListener("hashchange", () => inTurn(route));
addEventListener("keydown", event => {
  if (event.target.closest("input, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !by("list").hidden) {
    event.preventDefault();
    by("search").focus();
  }
  if (by("thread").hidden) return;
  const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: path.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  go(to);
});
by("follow-label").hidden = !page.live;
if (page.live) listen(logs => inTurn(() => changed(logs)), state);
else state("file");
inTurn(route);
