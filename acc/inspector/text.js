"use strict";
// Elements and text. Text of a conversation is set as text, never as HTML.
const by = id => document.getElementById(id);

// Characters that are not seen or turn the reading direction; line feeds, tabs and joiners stay.
const UNSEEN = /[\u034f\u115f\u1160\u3164\uffa0\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
const LONGEST_WORD = 200;
const KEPT = new Set(["\n", "\t", "\u200c", "\u200d"]);

// The text as nodes, with the code of each unseen character in its place.
function shown(text) {
  const whole = document.createDocumentFragment();
  let plain = "", run = 0;
  for (const letter of String(text).replaceAll("\r\n", "\n")) {
    if (!UNSEEN.test(letter) || KEPT.has(letter)) {
      plain += letter;
      run = letter === " " || letter === "\n" ? 0 : run + 1;
      // A browser takes half a minute to break a word of 200,000 letters that offers no place for it.
      if (run === LONGEST_WORD) {
        whole.append(plain, document.createElement("wbr"));
        plain = "";
        run = 0;
      }
      continue;
    }
    const code = letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    whole.append(plain, made("span", { class: "code", title: "a character that is not seen" }, document.createTextNode(`U+${code}`)));
    plain = "";
  }
  whole.append(plain);
  return whole;
}

// An element with attributes; texts among the children go through `shown`. A function is a listener.
function made(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== "")
    .map(child => child instanceof Node ? child : shown(child)));
  return element;
}

const fill = (place, ...children) => (typeof place === "string" ? by(place) : place).replaceChildren(...children.flat(Infinity).filter(Boolean));

const MOST = 900;

// A text of the conversation: cut, with a button that opens the rest. `quote` is marked where it stands.
function said(text, { most = MOST, quote = "", leftOut = 0 } = {}) {
  const box = made("div", { class: "said" });
  const at = quote ? text.indexOf(quote) : -1;
  const letters = text.slice(0, Math.max(most, at + quote.length + 200 < 4 * most ? at + quote.length : 0));
  if (at >= 0 && at + quote.length <= letters.length) {
    box.append(shown(text.slice(0, at)), made("mark", {}, quote), shown(letters.slice(at + quote.length)));
  } else box.append(shown(letters));
  if (letters.length < text.length) {
    const button = made("button", { type: "button", class: "more" }, `Show all ${number(text.length)} characters`);
    button.addEventListener("click", () => box.replaceChildren(shown(text)));
    box.append("… ", button);
  }
  if (leftOut) box.append(made("div", { class: "soft" }, `${number(leftOut)} more characters were left out`));
  return box;
}

const number = value => Number(value ?? 0).toLocaleString("en");
const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
const title = slot => slot.replaceAll("_", " ");
const time = at => /^\d{4}-\d\d-\d\dT/.test(at) ? `${at.slice(0, 10)} ${at.slice(11, 19)} UTC` : at;
const total = values => Object.values(values).reduce((sum, value) => sum + value, 0);
// How much of a whole, as a bar.
function meter(value, most, label) {
  const part = made("i"), share = Math.max(0, Math.min(1, value / (most || 1)));
  part.style.width = `${(100 * share).toFixed(1)}%`;
  return made("span", { class: "meter", role: "meter", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": most, "aria-valuenow": value }, part);
}
const badge = (text, kind = "") => made("span", { class: `badge ${kind}` }, text);
const reason = note => made("span", { class: "reason" }, made("code", {}, note.reason), note.detail ? ` ${note.detail}` : "");
const empty = text => made("p", { class: "soft" }, text);
