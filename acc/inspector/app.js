// The page: the list of threads, one thread, and how one gets from turn to turn.
let threads = [], log = "", branch = "", path = [], end = "", place = 0, chart = null, mode = "budget", waiting = null, shownTurn = null;
const details = new Map(), MOST_DETAILS = 60, MOST_ROWS = 200;
const KINDS = { turn: "a turn", compression: "a compression without a new turn", repair: "one more answer after refusals", judge: "a second reading of rules said to end",
  operator: "an operator's act", ingest: "documents came in", provisional: "the rules without a model, until one works", fork: "the beginning of a branch", taken: "a state from outside" };

const notice = error => fill("notice", error ? made("p", { class: "notice" }, error.error ?? String(error), error.hint ? made("span", { class: "hint" }, `To fix: ${error.hint}`) : null) : null);

// What loads runs one after the other: a change that comes meanwhile must find the turn that was asked for.
let busy = Promise.resolve();
const inTurn = load => { busy = busy.then(load).catch(notice); };

function route() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (!wanted.get("log")) return showList();
  return showThread(wanted.get("log"), wanted.get("at"), wanted.get("branch") ?? "");
}

// Lets go of a thread's texts: an erasure must find none in a page that is open.
function leave() {
  path = [];
  end = "";
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
  const told = row => [row.thread, row.user, row.agent, row.tenant, row.outcome].join(" ").toLowerCase();
  const found = threads.filter(row => words.every(word => told(row).includes(word)))
    .sort((one, other) => (one.at ?? "") < (other.at ?? "") ? 1 : -1);
  by("count").textContent = words.length ? `${found.length} of ${plural(threads.length, "thread")}` : plural(threads.length, "thread");
  if (!found.length) return fill("threads", empty(threads.length ? "No thread matches." : "No thread has a commit yet. A thread appears here when its first turn is stored."));
  const head = ["Thread", "Tenant / user / agent", "Turn", "Agent reads", "Outcome", "Last commit"];
  const rows = found.slice(0, MOST_ROWS).map(row => made("tr", {},
    made("td", { class: "name" }, made("a", { href: `#${new URLSearchParams({ log: row.log, ...(row.branch === "main" ? {} : { branch: row.branch }) })}` }, cut(row.thread)), row.branches > 1 ? badge(`${row.branches} branches`) : null),
    ...(row.fault ? [made("td", { colspan: 5 }, badge("damaged", "removed"), ` ${row.fault}`)] : [
      made("td", { "data-head": "for" }, cut([row.tenant, row.user, row.agent].map(name => name || "–").join(" / "))), made("td", { class: "right", "data-head": "turn" }, number(row.turn)),
      made("td", { class: "right", "data-head": "tokens" }, made("span", { class: "gauge" }, meter(row.tokens, row.limit, `state: ${row.tokens} of ${row.limit} tokens`), made("span", {}, number((row.tokens ?? 0) + (row.tail ?? 0))))),
      made("td", { "data-head": "outcome" }, badge(row.outcome, row.failed ? "removed" : "added")), made("td", { class: "soft when" }, time(row.at))])));
  fill("threads", made("table", {}, made("thead", {}, made("tr", {}, head.map((name, n) => made("th", { scope: "col", class: n === 2 || n === 3 ? "right" : "" }, name)))), made("tbody", {}, rows)),
    found.length > MOST_ROWS ? empty(`The newest ${MOST_ROWS} of ${number(found.length)} are shown. Search for the others.`) : null);
}

const cut = (text, most = 120) => text.length > most ? `${text.slice(0, most)}…` : text;

async function showThread(name, at, wanted = "") {
  if (name !== log || wanted !== branch || !path.length) {
    leave();
    log = name;
    branch = wanted;
    mode = "budget";
    notice(null);
    try {
      await update();
    } catch (error) {
      notice(error);
      by("thread").hidden = true;
      return;
    }
    by("list").hidden = true;
    by("thread").hidden = false;
    if (at === null || at === undefined) by("follow").checked = true;
  }
  const index = at === null || at === undefined ? path.length - 1 : path.findIndex(entry => entry.version >= +at);
  go(index < 0 ? path.length - 1 : index, false);
}

// Reads the commits that came since. After an erasure all are read anew, and no text that is gone stays in the page.
async function update() {
  const asked = log, wanted = branch, more = await data.thread(log, branch, path, end);
  if (asked !== log || wanted !== branch) return;
  if (more.after === 0 && path.length) {
    details.clear();
    shownTurn = null;
    fill("turn");
    by("drawer").close();
  }
  path = more.after === 0 ? more.entries : [...path, ...more.entries];
  end = more.mark;
  let heard = 0;
  for (const entry of path) entry.heard = heard += entry.said;
  await frame(more.branches);
}

async function frame(branches) {
  if (!path.length) throw { error: "this thread has no commit yet", hint: "its first turn is stored; the next step commits it" };
  const newest = path.at(-1), names = (await detail(newest.version)).thread;
  fill("thread-title", shown(cut(names.thread)));
  document.title = `${cut(names.thread, 40)} · ACC inspector`;
  fill("crumb", shown(`/ ${cut(names.thread, 40)}`));
  const owner = [["Tenant", names.tenant], ["User", names.user], ["Agent", names.agent]].filter(([, name]) => name);
  const facts = [...owner, ["Turns", number(newest.turn)], ["Agent reads", `${number(newest.tokens)} + ${number(newest.tail)} tokens`], ["Limit of the state", `${number(newest.limit)} tokens`],
    ["Transcript", `${number(newest.heard)} tokens`], ["Last outcome", newest.outcome], ["Last commit", time(newest.at)]];
  const choose = event => { location.hash = new URLSearchParams({ log, branch: event.target.value }); };
  if (branches.length > 1) facts.push(["Branch", made("select", { "aria-label": "Branch", change: choose },
    branches.map(name => made("option", { value: name, selected: name === (branch || "main") }, cut(name, 24))))]);
  fill("facts", facts.map(([name, text]) => made("div", {}, made("dt", {}, name), made("dd", {}, text instanceof Node ? text : cut(text)))));
  const faults = path.filter(entry => entry.fault);
  if (faults.length) notice({ error: `${plural(faults.length, "damaged row")}: ${faults.slice(0, 5).map(entry => `version ${entry.version}: ${entry.fault}`).join("; ")}`, hint: "run acc verify, and restore a backup" });
  by("slider").max = path.length - 1;
  by("number").max = newest.turn;
  drawChart();
}

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

async function detail(version, signal) {
  const key = `${version} ${end}`;
  if (!details.has(key)) {
    details.set(key, await data.turn(log, branch, version, signal));
    if (details.size > MOST_DETAILS) details.delete(details.keys().next().value);
  }
  return details.get(key);
}

// Shows the turn at a place of the path: the numbers at once, the details when they have come.
function go(index, byHand = true) {
  place = Math.max(0, Math.min(path.length - 1, index));
  const entry = path[place];
  if (byHand) by("follow").checked = place === path.length - 1;
  by("slider").value = place;
  by("slider").setAttribute("aria-valuetext", `turn ${entry.turn}, version ${entry.version}, ${entry.tokens} tokens`);
  by("number").value = entry.turn;
  by("before").disabled = place === 0;
  by("after").disabled = place === path.length - 1;
  const kind = entry.kind === "turn" ? "" : ` · ${KINDS[entry.kind] ?? entry.kind}`;
  fill("where", shown(`of ${number(path.at(-1).turn)} · version ${number(entry.version)}${kind} · ${number(entry.tokens)} + ${number(entry.tail)} tokens · ${entry.outcome}${entry.at ? ` · ${time(entry.at)}` : ""}`));
  mark();
  const hash = new URLSearchParams({ log, ...(branch ? { branch } : {}), at: entry.version });
  history.replaceState(null, "", `#${hash}`);
  waiting?.abort();
  waiting = new AbortController();
  const { signal } = waiting;
  const isKnown = details.has(`${entry.version} ${end}`);
  setTimeout(() => signal.aborted || open(entry, signal), isKnown ? 0 : 40);
}

async function open(entry, signal) {
  try {
    const turn = await detail(entry.version, signal);
    if (signal.aborted) return;
    shownTurn = [turn, entry];
    again();
  } catch (error) {
    if (error.name !== "AbortError") notice(error);
  }
}

const again = () => shownTurn && fill("turn", turnView(...shownTurn, { openItem, openSource, again }));

function opened(heading, ...parts) {
  fill("drawer-title", shown(heading));
  fill("drawer-body", parts);
  if (!by("drawer").open) by("drawer").showModal();
  by("drawer-body").scrollTop = 0;
}

const sourcesOf = item => [...new Set([...(item.sources ?? []), ...[item.words, item.about, item.scope, item.offer, item.done, ...(item.later ?? []), item.ending?.words].filter(Boolean).map(each => each.ref)])];

async function openItem(item) {
  const from = path.findIndex(entry => entry.turn >= (item.turn ?? 0) && entry.kind === "turn");
  const facts = [["Slot", title(item.slot)], ["Said by", byOf(item)], ["Came in turn", String(item.turn ?? 0)], ["Last written or cited", `turn ${item.touched ?? item.turn ?? 0}`]];
  const list = made("dl", { class: "pairs" }, facts.map(([name, text]) => [made("dt", {}, name), made("dd", {}, text)]));
  const links = made("div", { class: "acts" }, from >= 0 && from !== place ? made("button", { type: "button", click: () => { by("drawer").close(); go(from); } }, `Go to turn ${item.turn ?? 0}`) : null);
  const sources = made("div", {}, empty("Reading the sources…"));
  opened(item.id, made("p", { class: "big" }, wordsOf(item)), besideOf(item), list, links, made("h3", {}, "Where it comes from"), sources);
  const texts = await Promise.all(sourcesOf(item).map(ref => sourceView(ref, item.words?.text ?? "")));
  fill(sources, texts.length ? texts : empty("The item names no source."));
}

async function openSource(ref) {
  opened(ref, empty("Reading…"));
  fill("drawer-body", await sourceView(ref, ""));
}

async function sourceView(ref, quote) {
  let source;
  try {
    source = await data.source(log, branch, ref);
  } catch (error) {
    source = { ref, unavailable: error.error ?? String(error) };
  }
  if (source.unavailable) return made("article", { class: "message" }, made("header", {}, made("code", {}, ref)), made("p", { class: "notice" }, `Unavailable: ${source.unavailable}`));
  return made("article", { class: `message ${source.channel}` }, made("header", {}, badge(source.channel, source.channel), source.name ? made("b", {}, source.name) : null, made("code", {}, ref), made("span", { class: "soft" }, `turn ${source.turn}${source.at ? `, ${time(source.at)}` : ""}`)),
    said(source.text, { most: 2400, quote, leftOut: source.left_out }));
}

async function changed(logs) {
  if (!log) return showList();
  if (logs.length && !logs.includes(log)) return;
  const follow = by("follow").checked, before = path[place]?.version;
  try {
    await update();
    const index = path.findIndex(entry => entry.version === before);
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

const STATES = { live: "Live", away: "Reconnecting", fault: "The journal cannot be read" };
function state(word, why = "") {
  by("live").dataset.state = word;
  by("live").textContent = STATES[word];
  if (word === "fault") notice({ error: why });
}

by("slider").addEventListener("input", event => go(+event.target.value));
by("number").addEventListener("change", event => {
  const index = path.findLastIndex(entry => entry.turn <= +event.target.value);
  go(Math.max(0, index));
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
by("drawer-close").addEventListener("click", () => by("drawer").close());
by("drawer").addEventListener("click", event => { if (event.target === by("drawer")) by("drawer").close(); });
by("drawer").addEventListener("close", () => by("drawer").open || fill("drawer-body"));
listen(logs => inTurn(() => changed(logs)), state);
inTurn(route);
