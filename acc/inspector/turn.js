// One commit: what was said, what the agent reads, what changed and why.
function turnView(turn, entry, context) {
  const parts = [...warnings(turn, entry)], group = name => turn.notes.filter(note => note.group === name);
  parts.push(made("div", { class: "two" },
    card("The turn itself", scrolled(turnText(turn, entry, context), "The turn itself")),
    card("What the agent reads: state and tail", scrolled(stateView(turn, context), "State and tail"), stateTabs(context))));
  const gone = [...group("refused"), ...group("left")], admitted = turn.verdicts.filter(each => each.reason === "admitted");
  const told = new Set(turn.changes.map(change => change.id)), other = group("").filter(note => !told.has(note.item));
  parts.push(card("What changed, and why", changesView(turn.changes, turn, context), made("span", {}, counts(entry))));
  parts.push(card("Refused and let go", notesList(gone, context, "Nothing was refused, and nothing was let go."), gone.length ? badge(number(gone.length)) : null));
  parts.push(card("What was recalled", verdictsView(turn, context), badge(`${admitted.length} of ${turn.verdicts.length} admitted`)));
  parts.push(made("div", { class: "two" }, card("Cost and commit", costView(turn, entry)), card("What else the commit did", notesList(other, context, "Nothing."))));
  return parts;
}

const card = (heading, body, beside = null) =>
  made("section", { class: "card" }, made("div", { class: "bar" }, made("h2", {}, heading), beside), body);

// Both halves stay beside each other, however long one is.
const scrolled = (body, label) => made("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": label }, body);

function warnings(turn, entry) {
  const told = [];
  if (turn.failure) told.push(`The compressor failed (${entry.outcome}): ${turn.failure}`);
  if (entry.fault) told.push(`This row is damaged: ${entry.fault}. Run acc verify; restore a backup.`);
  if (turn.no_room.length) told.push(`Rules or goals found no room: ${turn.no_room.join(", ")}. An operator has to end others.`);
  if (turn.waiting.length) told.push(`${plural(turn.waiting.length, "message")} (${turn.waiting.map(each => each.ref).join(", ")}) of a later step that failed or still runs: the next step takes them.`);
  return told.map(text => made("p", { class: "notice" }, text));
}

function counts(entry) {
  const parts = [["added", "+"], ["changed", "~"], ["removed", "−"]].filter(([name]) => entry[name]);
  return parts.map(([name, sign]) => badge(`${sign}${entry[name]} ${name}`, name));
}

function turnText(turn, entry, context) {
  if (!turn.said.length) return empty(`Nobody spoke: ${KINDS[entry.kind] ?? entry.kind}.`);
  return made("div", {}, turn.said.map(part => messageView(part, context)));
}

const SIGNS = { added: "+", removed: "−", changed: "~" };

function changesView(changes, turn, context) {
  if (!changes.length) return empty("Nothing changed.");
  const items = new Map(turn.items.map(item => [item.id, item]));
  const whole = [...changes].sort((one, other) => turn.pinned.includes(other.slot) - turn.pinned.includes(one.slot));
  return made("ul", { class: "rows" }, whole.map(change => {
    const item = items.get(change.id);
    const fields = Object.entries(change.fields ?? {}).map(([name, [old, now]]) =>
      made("div", { class: "field" }, made("span", { class: "soft" }, `${name} `), made("del", {}, old || "(none)"), " → ", made("ins", {}, now || "(none)")));
    return made("li", { class: change.change },
      made("span", { class: "sign", "aria-label": change.change }, SIGNS[change.change]),
      item ? made("button", { type: "button", class: "ref", click: () => context.openItem(item) }, change.id) : made("code", {}, change.id),
      made("div", { class: "body" }, made("span", { class: "soft" }, title(change.slot)), made("div", {}, said(change.words || "(no words)", { most: 400 }), fields),
        made("div", { class: "reasons" }, change.reasons.map(reason))));
  }));
}

const NOTES = { refused: ["✕", "removed"], left: ["↗", "changed"], "": ["·", ""] };

function notesList(notes, context, none) {
  if (!notes.length) return empty(none);
  return made("ul", { class: "rows" }, notes.map(note => {
    const [sign, kind] = NOTES[note.group];
    return made("li", { class: kind }, made("span", { class: "sign", "aria-label": note.group || "note" }, sign),
      note.ref ? made("button", { type: "button", class: "ref", click: () => context.openSource(note.ref) }, note.ref) : made("code", {}, note.item ?? ""),
      made("div", { class: "body" }, made("span", { class: "soft" }, [note.of, note.ref && note.item].filter(Boolean).join(" ")), note.text ? said(note.text, { most: 400 }) : made("span"),
        made("div", { class: "reasons" }, reason(note))));
  }));
}

function verdictsView(turn, context) {
  if (!turn.verdicts.length) return empty("Nothing was recalled.");
  const whole = [...turn.verdicts].sort((one, other) => (other.reason === "admitted") - (one.reason === "admitted"));
  return made("ul", { class: "rows verdicts" }, whole.map(({ ref, reason: why, text }) =>
    made("li", { class: why === "admitted" ? "added" : "removed" }, badge(why === "admitted" ? "admitted" : "refused", why === "admitted" ? "added" : "removed"),
      made("button", { type: "button", class: "ref", click: () => context.openSource(ref) }, ref),
      made("div", { class: "body" }, text ? said(text) : made("span", { class: "soft" }, "The journal does not have the text here."), made("div", { class: "reasons" }, reason({ reason: why }))))));
}

function costView(turn, entry) {
  const facts = [["Outcome", entry.outcome], ["State", `${number(entry.tokens)} of at most ${number(entry.limit)} tokens`], ["Tail", `${number(entry.tail)} tokens, long ones counted whole`],
    ["Compressor", [turn.author || "none", turn.mode].filter(Boolean).join(", ")]];
  for (const [kind, count] of Object.entries(turn.usage)) facts.push([`Model: ${kind}`, kind === "requests" ? number(count) : `${number(count)} tokens`]);
  facts.push(["Policy", [turn.policy.fingerprint, turn.policy.schema, turn.policy.lifting && `lifting=${turn.policy.lifting}`].filter(Boolean).join(", ")],
    ["State's hash", `${turn.hash.slice(0, 16)}${entry.fault ? ", DAMAGED" : ""}`]);
  return made("dl", { class: "pairs" }, facts.map(([name, text]) => [made("dt", {}, name), made("dd", {}, text)]));
}
