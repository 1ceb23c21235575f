// One turn: what was said, what the agent reads, what changed and why.
let view = "items";

function turnView(turn, entry, context) {
  const parts = [...warnings(turn, entry)];
  parts.push(made("div", { class: "two" },
    card("The turn itself", scrolled(turnText(turn, context), "The turn itself")),
    card("The state as the agent reads it", scrolled(stateView(turn, context), "The state"), stateTabs(turn, context))));
  const refused = turn.refused.length + turn.left.length;
  parts.push(card(`What changed, and why`, changesView(turn, context), counts(entry)));
  parts.push(card("Refused and evicted", refusedView(turn, context), refused ? badge(number(refused)) : null));
  parts.push(card("What was recalled", verdictsView(turn, context), badge(`${entry.admitted} of ${entry.candidates} admitted`)));
  parts.push(made("div", { class: "two" }, card("Latency and cost", costView(turn, entry)), card("What else the commit did", notesView(turn), null)));
  return parts;
}

const card = (heading, body, beside = null) =>
  made("section", { class: "card" }, made("div", { class: "bar" }, made("h2", {}, heading), beside), body);

// Both halves stay beside each other, however long one is.
const scrolled = (body, label) => made("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": label }, body);

function warnings(turn, entry) {
  const said = [];
  if (turn.failure) said.push(`The compressor failed (${entry.outcome}): ${turn.failure}`);
  if (!turn.sound) said.push("The record's digest does not fit its bytes: it was changed. Run acc verify.");
  if (entry.unchained) said.push("The record does not follow the one before it: the log was changed. Run acc verify.");
  if (entry.redacted) said.push("An erasure removed words from this record.");
  if (turn.erasure) said.push(`Erasure ${turn.erasure.id}: ${plural(turn.erasure.items.length, "item")} left the state, ${plural(turn.erasure.redacted, "record")} redacted.`);
  return said.map(text => made("p", { class: "notice" }, text));
}

function counts(entry) {
  const parts = [["added", "+"], ["changed", "~"], ["removed", "−"]].filter(([name]) => entry[name]);
  return made("span", {}, parts.map(([name, sign]) => badge(`${sign}${entry[name]} ${name}`, name)));
}

function turnText(turn, context) {
  if (!turn.said.length) return empty("Nobody spoke: this record is an operator's or the memory's own act.");
  const told = turn.said.map(part => made("article", { class: `message ${part.channel}` },
    made("header", {}, badge(part.channel, part.channel), part.name ? made("b", {}, part.name) : null,
      made("button", { type: "button", class: "ref", click: () => context.openSource(part.ref) }, part.ref)),
    said(part.text, { leftOut: part.left_out })));
  return made("div", {}, told);
}

function stateTabs(turn, context) {
  const tab = (name, label) => made("button", { type: "button", "aria-pressed": String(view === name), click: () => { view = name; context.again(); } }, label);
  return made("div", { class: "tabs", role: "group", "aria-label": "How the state is shown" }, tab("items", "Items"), tab("text", "Text"));
}

function stateView(turn, context) {
  if (view === "text") {
    if (turn.rendered === null) return empty(`The text cannot be made here: ${turn.unread}`);
    return turn.rendered ? made("pre", { class: "rendered" }, turn.rendered) : empty("Empty.");
  }
  const slots = [...new Set(turn.items.map(item => item.slot))];
  slots.sort((one, other) => turn.pinned.includes(other) - turn.pinned.includes(one));
  const news = new Map(turn.changes.map(change => [change.id, change.change]));
  const parts = slots.map(slot => {
    const items = turn.items.filter(item => item.slot === slot);
    return made("section", { class: "slot" },
      made("h3", {}, title(slot), turn.pinned.includes(slot) ? badge("binds", "pinned") : null, made("span", { class: "soft" }, number(items.length))),
      made("ul", { class: "items" }, items.map(item => made("li", {}, itemRow(item, news.get(item.id), context)))));
  });
  for (const [name, entries] of Object.entries(turn.beside)) if (entries.length) parts.push(besideView(name, entries, context));
  return parts.length ? made("div", {}, parts) : empty("Empty.");
}

function itemRow(item, news, context) {
  const label = `${item.id}: where it comes from`;
  return made("button", { type: "button", class: `item ${news ?? ""}`, title: label, click: () => context.openItem(item) },
    made("code", {}, item.id), made("span", { class: "words" }, item.words.slice(0, 400)),
    made("span", { class: "marks" }, news ? badge(news === "added" ? "new" : news, news) : null, item.dated?.expired ? badge("expired", "removed") : null,
      item.endorsed ? badge("endorsed") : null, badge(item.trust ?? "", item.trust)));
}

const BESIDE = { lifted: "Ended in this turn", doubted: "In doubt: the agent asks", evicted: "Traces of what was evicted", pending: "Not read yet" };

function besideView(name, entries, context) {
  return made("section", { class: "slot" }, made("h3", {}, BESIDE[name]), made("ul", { class: "items" }, entries.map(entry => made("li", { class: "plain" },
    entry.ref ? made("button", { type: "button", class: "ref", click: () => context.openSource(entry.ref) }, entry.ref) : entry.id ? made("code", {}, entry.id) : null,
    made("span", { class: "words" }, said(entry.text, { most: 400 }), entry.because ? made("span", { class: "soft" }, ` because: ${entry.because}`) : null),
    entry.shown === false ? badge("no room in the text") : null))));
}

const SIGNS = { added: "+", removed: "−", changed: "~" };

function changesView(turn, context) {
  if (!turn.changes.length) return empty("Nothing changed.");
  const items = new Map(turn.items.map(item => [item.id, item]));
  const left = new Map(turn.left.map(item => [item.id, item]));
  const whole = [...turn.changes].sort((one, other) => turn.pinned.includes(other.slot) - turn.pinned.includes(one.slot));
  return made("ul", { class: "rows" }, whole.map(change => {
    const item = items.get(change.id) ?? left.get(change.id), words = change.says ?? change.said ?? item?.words ?? "";
    const fields = Object.entries(change.fields ?? {}).map(([name, [old, now]]) =>
      made("div", { class: "field" }, made("span", { class: "soft" }, `${name} `), made("del", {}, value(old)), " → ", made("ins", {}, value(now))));
    return made("li", { class: change.change },
      made("span", { class: "sign", "aria-label": change.change }, SIGNS[change.change]),
      item ? made("button", { type: "button", class: "ref", click: () => context.openItem(item) }, change.id) : made("code", {}, change.id),
      made("div", { class: "body" }, made("span", { class: "soft" }, title(change.slot)), made("div", {}, said(words || "(no words left)", { most: 400 }), fields),
        made("div", { class: "reasons" }, change.reasons.map(reason))));
  }));
}

const value = each => Array.isArray(each) ? each.join(" ") : each === null || each === "" ? "(none)" : typeof each === "object" ? JSON.stringify(each) : String(each);

function refusedView(turn, context) {
  const refused = turn.refused.map(note => made("li", { class: "removed" }, made("span", { class: "sign", "aria-label": "refused" }, "✕"), badge("refused", "removed"),
    made("div", { class: "body" }, made("span", { class: "soft" }, title(note.slot)), said(note.text || note.item, { most: 400 }), made("div", { class: "reasons" }, reason(note)))));
  const left = turn.left.map(item => made("li", { class: "changed" }, made("span", { class: "sign", "aria-label": "left the state" }, "↗"),
    made("button", { type: "button", class: "ref", click: () => context.openItem(item) }, item.id),
    made("div", { class: "body" }, made("span", { class: "soft" }, title(item.slot)), said(item.words, { most: 400 }), made("div", { class: "reasons" }, reason(item)))));
  return refused.length + left.length ? made("ul", { class: "rows" }, refused, left) : empty("Nothing was refused, and nothing left the state.");
}

// A verdict has the beginning of the text; its source has the rest.
const EXCERPT = 300;

function verdictsView(turn, context) {
  if (!turn.verdicts.length) return empty("Nothing was recalled.");
  return made("ul", { class: "rows verdicts" }, turn.verdicts.map(verdict => {
    return made("li", { class: verdict.admitted ? "added" : "removed" },
      made("span", { class: "score" }, meter(verdict.score, 1, "score"), verdict.score.toFixed(2)), badge(verdict.admitted ? "admitted" : "refused", verdict.admitted ? "added" : "removed"),
      made("button", { type: "button", class: "ref", click: () => context.openSource(verdict.ref) }, verdict.ref),
      made("div", { class: "body" }, verdict.text ? said(verdict.text + (verdict.text.length === EXCERPT ? "…" : "")) : made("span", { class: "soft" }, "The record does not have the text."),
        made("div", { class: "reasons" }, made("span", { class: "reason" }, made("code", {}, verdict.gate || "gate"), ` ${verdict.reason}`),
          verdict.telemetry.map(sign => badge(sign, "pinned")))));
  }));
}

function costView(turn, entry) {
  const stages = Object.entries(entry.ms), whole = total(entry.ms), order = CHARTS.latency.order;
  stages.sort(([one], [other]) => order.indexOf(one) - order.indexOf(other));
  const rows = stages.map(([stage, ms]) => made("div", { class: "stage" }, made("span", {}, stage), meter(ms, whole, `${stage}, part of the whole`), made("b", {}, milliseconds(ms))));
  const facts = [["Whole", whole ? milliseconds(whole) : "not recorded"], ["Outcome", entry.outcome], ["Compressor", turn.author || "none"]];
  for (const [kind, tokens] of Object.entries(turn.usage)) facts.push([`Model: ${kind}`, `${number(tokens)} tokens`]);
  facts.push(["Price", entry.money === null ? "none given" : entry.money.toFixed(6)], ["Policy", `${turn.policy.fingerprint}, ${turn.policy.style}`], ["Record", `${turn.digest.slice(0, 16)}${turn.sound ? ", its digest fits" : ", CHANGED"}`]);
  const list = made("dl", { class: "pairs" }, facts.map(([name, text]) => [made("dt", {}, name), made("dd", {}, text)]));
  return made("div", {}, rows, list, made("p", { class: "soft small" }, "The write of the record itself is not in it."));
}

function notesView(turn) {
  if (!turn.notes.length) return empty("Nothing.");
  return made("ul", { class: "rows" }, turn.notes.map(note => made("li", {},
    made("div", { class: "body two-cells" }, made("div", { class: "reasons" }, reason(note)), made("div", {}, note.slot ? made("span", { class: "soft" }, `${title(note.slot)} ${note.item}`) : null, note.text ? said(note.text, { most: 240 }) : null)))));
}
