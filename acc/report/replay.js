"use strict";
// Text of a conversation is set as text, never as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const turns = data.turns;
const by = id => document.getElementById(id);
const made = (tag, text, kind) => {
  const element = document.createElement(tag);
  if (text !== undefined && text !== "") element.textContent = text;
  if (kind) element.className = kind;
  return element;
};
const fill = (place, ...children) => by(place).replaceChildren(...children);
// On a narrow screen a row is a block, and a short cell shows its own heading.
const row = (cells, headings) => {
  const line = made("tr");
  cells.forEach((cell, place) => {
    const box = made("td");
    box.append(cell instanceof Node ? cell : String(cell));
    if (box.textContent.length > 30) box.className = "long";
    else if (place > 0 && headings[place] !== "id" && headings[place] !== "text") box.dataset.head = headings[place];
    line.append(box);
  });
  return line;
};
const table = (headings, rows, none) => {
  if (!rows.length) return made("p", none, "soft");
  const whole = made("table"), head = made("thead"), body = made("tbody"), line = made("tr");
  for (const heading of headings) line.append(made("th", heading));
  head.append(line);
  body.append(...rows.map(cells => row(cells, headings)));
  whole.append(head, body);
  const wide = made("div", "", "wide rows");
  wide.append(whole);
  return wide;
};
const itemsOf = index => new Map(index < 0 ? [] : turns[index].items.map(n => [data.items[n].id, data.items[n]]));

function reasons(turn, id) {
  const found = turn.notes.filter(note => note.item === id);
  return found.map(note => note.reason + (note.detail ? ` (${note.detail})` : "")).join("; ");
}

function changes(index) {
  const before = itemsOf(index - 1), after = itemsOf(index), turn = turns[index], rows = [];
  const add = (kind, item, said) =>
    rows.push([made("span", kind, kind), item.id, item.slot, said, reasons(turn, item.id)]);
  for (const [id, item] of after) {
    const old = before.get(id);
    if (!old) add("added", item, item.says);
    else if (old !== item) add("changed", item, old.says === item.says ? `${item.says} (its sources or trust)` : `${old.says} → ${item.says}`);
  }
  for (const [id, item] of before) if (!after.has(id)) add("removed", item, item.says);
  const rank = cells => data.pinned.includes(cells[2]) ? 0 : 1;
  rows.sort((one, other) => rank(one) - rank(other));
  return table(["change", "id", "slot", "text", "reasons"], rows, "Nothing changed.");
}

function otherNotes(index) {
  const before = itemsOf(index - 1), after = itemsOf(index);
  const told = note => note.item && (before.has(note.item) !== after.has(note.item) || before.get(note.item) !== after.get(note.item));
  const rows = turns[index].notes.filter(note => !told(note)).map(note =>
    [made("span", note.reason, note.refused ? "refused" : ""), note.slot, note.item, note.text, note.detail]);
  return table(["reason", "slot", "id", "text", "detail"], rows, "The commit did nothing else.");
}

function state(index) {
  const found = [];
  for (const slot of data.slots) {
    const rows = turns[index].items.map(n => data.items[n]).filter(item => item.slot === slot)
      .map(item => [item.id, item.says, item.trust, item.sources, item.turn]);
    if (!rows.length) continue;
    found.push(made("h3", slot.replaceAll("_", " ")), table(["id", "text", "trust", "sources", "since turn"], rows, ""));
  }
  return found.length ? found : [made("p", "Empty.", "soft")];
}

function verdicts(turn) {
  const rows = turn.verdicts.map(verdict => {
    const said = data.texts[verdict.ref];
    const text = made("span", said ? said.text : "", "said");
    const word = verdict.admitted ? "admitted" : "refused";
    const signs = verdict.telemetry.length ? ` [${verdict.telemetry.join(", ")}]` : "";
    return [made("span", word, word), verdict.score.toFixed(3), verdict.gate, verdict.reason + signs, verdict.ref, said ? said.channel : "", text];
  });
  return table(["verdict", "score", "gate", "reason", "ref", "channel", "text"], rows, "Nothing was recalled.");
}

function said(turn) {
  return turn.said.map(part => {
    const box = made("div");
    box.append(made("span", part.name ? `${part.channel} ${part.name}` : part.channel, "tag"));
    box.append(made("div", part.text, "said"));
    if (part.left_out) box.append(made("div", `… ${part.left_out} more characters`, "soft"));
    return box;
  });
}

function mark(number) {
  for (const chart of document.querySelectorAll("svg[data-first]")) {
    const { first, last, left, right, end } = chart.dataset;
    const x = +left + (right - left) * (number - first) / Math.max(1, last - first);
    let line = chart.querySelector(".marker");
    if (!line) {
      line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      line.setAttribute("class", "marker");
      chart.append(line);
    }
    for (const [name, value] of [["x1", x], ["x2", x], ["y1", 8], ["y2", end]]) line.setAttribute(name, value);
  }
}

function show(index) {
  index = Math.min(turns.length - 1, Math.max(0, index));
  const turn = turns[index];
  by("turn").value = by("number").value = turn.turn;
  by("figures").textContent = `${turn.tokens.toLocaleString()} tokens of state, ${turn.transcript.toLocaleString()} of transcript; ` +
    `${turn.verdicts.filter(v => v.admitted).length} of ${turn.verdicts.length} candidates admitted; ${turn.outcome}`;
  fill("failure", ...(turn.failure ? [made("p", `The compressor failed: ${turn.failure}`, "notice")] : []));
  fill("changes", changes(index));
  fill("notes", otherNotes(index));
  fill("state", ...state(index));
  fill("rendered", made("pre", turn.lines.map(n => data.lines[n]).join("\n")));
  fill("verdicts", verdicts(turn));
  fill("said", ...said(turn));
  mark(turn.turn);
  history.replaceState(null, "", `#${turn.turn}`);
}

const current = () => turns.findIndex(turn => turn.turn === +by("turn").value);
const to = number => {
  const index = turns.findIndex(turn => turn.turn >= number);
  show(index < 0 ? turns.length - 1 : index);
};
by("turn").addEventListener("input", event => to(+event.target.value));
by("number").addEventListener("change", event => to(+event.target.value));
by("before").addEventListener("click", () => show(current() - 1));
by("after").addEventListener("click", () => show(current() + 1));
addEventListener("keydown", event => {
  if (event.target.tagName === "INPUT") return;
  if (event.key === "ArrowLeft") show(current() - 1);
  if (event.key === "ArrowRight") show(current() + 1);
});
for (const chart of document.querySelectorAll("svg[data-first]")) {
  chart.addEventListener("click", event => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse()).x;
    const { first, last, left, right } = chart.dataset;
    to(Math.round(+first + (at - left) / (right - left) * (last - first)));
  });
}
to(+location.hash.slice(1) || turns[turns.length - 1].turn);
