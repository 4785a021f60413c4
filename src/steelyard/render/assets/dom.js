// Elements, made without ever parsing HTML: text from the data is only ever a text node or an attribute's value.

/** An element with attributes, listeners (`on`) and children; what is null or false is left out. */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const byId = (id) => document.getElementById(id);

const WORDS = { p: "pass", f: "fail", u: "undefined", x: "failed", s: "scored" };
const SIGNS = { p: "●", f: "▼", u: "◇", x: "✕", s: "○" };

/** A state by shape and by word. */
const stateText = (letter) => `${SIGNS[letter]} ${WORDS[letter]}`;

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const count = (number) => whole.format(number);

const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

/** A value as the tables show it: three decimals near 1, fewer where the number is large. */
function figure(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1000) return whole.format(value);
  return value.toFixed(size >= 10 ? 1 : 3);
}

/** A name that may break after its underscores, dots and the like. */
function breakable(name) {
  return name.split(/(?<=[_.@(\-])/).flatMap((part, at) => (at ? [h("wbr"), part] : [part]));
}

/** Say something to who cannot see it change. */
function announce(words) {
  byId("said").textContent = words;
}
