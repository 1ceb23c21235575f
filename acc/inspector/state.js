// What the agent reads after a commit: the items of the state, or its text, and the tail word for word.
let view = "items";

function stateTabs(context) {
  const tab = (name, label) => made("button", { type: "button", "aria-pressed": String(view === name), click: () => { view = name; context.again(); } }, label);
  return made("div", { class: "tabs", role: "group", "aria-label": "How the state is shown" }, tab("items", "Items"), tab("text", "Text"));
}

function stateView(turn, context) {
  const parts = view === "text" ? [stateText(turn)] : stateItems(turn, context);
  if (turn.tail.length) parts.push(tailView(turn, context));
  return parts.length ? made("div", {}, parts) : empty("Empty.");
}

function stateText(turn) {
  if (turn.rendered === null) return empty(`The text cannot be made here: ${turn.unread}`);
  return turn.rendered ? made("pre", { class: "rendered" }, turn.rendered) : empty("The state is empty.");
}

const COMPUTED = new Set(["episodic_trace", "retrieved_artifacts"]);

function stateItems(turn, context) {
  if (turn.rendered === null && !turn.items.length) return [empty(`The state cannot be read: ${turn.unread}`)];
  const slots = [...new Set(turn.items.map(item => item.slot))];
  const rank = slot => COMPUTED.has(slot) ? 2 : turn.pinned.includes(slot) ? 0 : 1;
  slots.sort((one, other) => rank(one) - rank(other));
  const news = new Map(turn.changes.map(change => [change.id, change.change]));
  return slots.map(slot => {
    const items = turn.items.filter(item => item.slot === slot);
    return made("section", { class: "slot" },
      made("h3", {}, title(slot), turn.pinned.includes(slot) ? badge("binds", "pinned") : COMPUTED.has(slot) ? badge("the agent does not read it") : null, made("span", { class: "soft" }, number(items.length))),
      made("ul", { class: "items" }, items.map(item => made("li", {}, itemRow(item, news.get(item.id), context)))));
  });
}

// An item says what its record says; somebody's own words stand without what was said about them later.
function wordsOf(item) {
  if (!item.words) return item.says;
  const said = `${item.words.text}${item.about ? ` (about: ${item.about.text})` : ""}${item.scope ? ` (${item.scope.text})` : ""}`;
  return item.offer ? `agent: "${item.offer.text}" ${item.words.channel}: "${said}"` : said;
}

const byOf = item => item.trust ?? item.words?.channel ?? "";
const dayOf = words => words.at ? words.at.slice(0, 10) : `turn ${words.turn ?? 0}`;
const VERDICTS = { ends: "a second reading agreed: it ends", stays: "a second reading disagreed: it stays", unclear: "a second reading could not tell: it stays" };

// Later words, and the claim that a rule ended, with the verdict of the second reading.
function besideOf(item) {
  const parts = (item.later ?? []).map(words => made("span", { class: "beside" }, badge(`later, ${dayOf(words)}`, "changed"), ` ${words.speaker || words.channel}: ${words.text}`));
  const { ending } = item;
  if (ending) {
    const claim = ending.kind === "no_rule" ? "said to be no rule at all" : `said to end${ending.begins ? ` from ${ending.begins}` : ""} by “${ending.words?.text ?? ""}”`;
    parts.push(made("span", { class: "beside" }, badge(ending.verdict || "not judged yet", ending.verdict === "ends" ? "removed" : "pinned"),
      ` since turn ${ending.since ?? 0} ${claim}. ${VERDICTS[ending.verdict] ?? "Nobody has judged it yet: it stays."}`, ending.asked ? ` The agent had asked: ${ending.asked.text}` : ""));
  }
  if (item.done) parts.push(made("span", { class: "beside" }, badge("done", "added"), ` says ${item.done.speaker || item.done.channel}`));
  if (item.was) parts.push(made("span", { class: "beside" }, badge("was", "pinned"), ` ${item.was.text} (${item.was.trust})`));
  return parts;
}

function itemRow(item, news, context) {
  return made("button", { type: "button", class: `item ${news ?? ""}`, title: `${item.id}: where it comes from`, click: () => context.openItem(item) },
    made("code", {}, item.id), made("span", { class: "words" }, wordsOf(item).slice(0, 1200), besideOf(item)),
    made("span", { class: "marks" }, news ? badge(news === "added" ? "new" : news, news) : null, item.minor ? badge("leaves first") : null, byOf(item) ? badge(byOf(item), byOf(item)) : null));
}

const STATUS = { unread: "not compressed yet", read: "compressed", provisional: "the agent does not read it; a model will" };

function tailView(turn, context) {
  return made("section", { class: "slot", id: "tail" }, made("h3", {}, "The tail, word for word", made("span", { class: "soft" }, number(turn.tail.length))),
    turn.tail.map(part => part.text === null ? made("p", { class: "soft" }, `${part.ref}: its text is not in the journal`)
      : messageView(part, context, badge(STATUS[part.status ?? "unread"], part.status === "read" ? "" : "pinned"))));
}

function messageView(part, context, mark = null) {
  return made("article", { class: `message ${part.channel}` },
    made("header", {}, badge(part.channel, part.channel), part.name ? made("b", {}, part.name) : null,
      made("button", { type: "button", class: "ref", click: () => context.openSource(part.ref) }, part.ref), mark),
    said(part.text, { leftOut: part.left_out }));
}
