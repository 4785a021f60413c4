// Filter expressions: `faithfulness < 0.5 and question_type == "temporal"`.
//
//   or     = and { "or" and }
//   and    = not { "and" not }
//   not    = "not" not | test
//   test   = value [ ("<" | "<=" | ">" | ">=" | "==" | "=" | "!=" | "contains") value
//                  | "in" "(" value { "," value } ")"
//                  | "is" ["not"] ("pass" | "fail" | "undefined" | "failed" | "scored") ]
//   value  = number | "text" | 'text' | true | false | name | `name` | "(" or ")"
//
// The text is read into a tree and the tree into functions; nothing of it is ever run as code. A comparison with a
// value that is not there is false. Names are those of metrics and tags; longest first, so `ndcg(gain=exponential)@10`
// is one name.

const KEYWORDS = new Set(["and", "or", "not", "in", "is", "contains", "true", "false"]);
const STATES = ["pass", "fail", "undefined", "failed", "scored"];
const LONGEST_EXPRESSION = 4000;

class ExpressionError extends Error {}

/** The tokens of a text, each with its place. */
function tokens(text, names) {
  const bare = names.filter((name) => /^[A-Za-z_]/.test(name) && !KEYWORDS.has(name)).sort((a, b) => b.length - a.length);
  const found = [];
  let at = 0;
  const add = (kind, value, length) => {
    found.push({ kind, value, at });
    at += length;
  };
  while (at < text.length) {
    const rest = text.slice(at);
    const space = /^\s+/.exec(rest);
    if (space) {
      at += space[0].length;
      continue;
    }
    const quoted = /^"((?:[^"\\]|\\.)*)"|^'((?:[^'\\]|\\.)*)'/s.exec(rest);
    if (quoted) {
      add("text", (quoted[1] ?? quoted[2]).replace(/\\(.)/gs, "$1"), quoted[0].length);
      continue;
    }
    const ticked = /^`([^`]+)`/.exec(rest);
    if (ticked) {
      add("name", ticked[1], ticked[0].length);
      continue;
    }
    const name = bare.find((one) => rest.startsWith(one) && !/^[\w.@(]/.test(rest.slice(one.length)));
    if (name) {
      add("name", name, name.length);
      continue;
    }
    const number = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?(?![\w.])/.exec(rest);
    if (number) {
      add("number", Number(number[0]), number[0].length);
      continue;
    }
    const mark = /^(<=|>=|==|!=|[<>=(),])/.exec(rest);
    if (mark) {
      add("mark", mark[0] === "=" ? "==" : mark[0], mark[0].length);
      continue;
    }
    const word = /^[\p{L}\p{N}_.@-]+/u.exec(rest);
    if (word) {
      add(KEYWORDS.has(word[0].toLowerCase()) ? word[0].toLowerCase() : "word", word[0], word[0].length);
      continue;
    }
    throw new ExpressionError(`cannot read ${JSON.stringify(rest[0])} at ${at + 1}`);
  }
  return found;
}

/** The nearest known name to a misspelt one, if one is near. */
function nearest(word, names) {
  const distance = (a, b) => {
    let row = Array.from({ length: b.length + 1 }, (_, at) => at);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++)
        next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      row = next;
    }
    return row[b.length];
  };
  const folded = word.toLowerCase().slice(0, 60);
  const scored = names.map((name) => {
    const known = name.toLowerCase().slice(0, 60);
    return [folded.length > 2 && known.startsWith(folded) ? 0 : distance(folded, known) / Math.max(known.length, folded.length), name];
  });
  const best = scored.sort((a, b) => a[0] - b[0])[0];
  return best && best[0] <= 0.4 ? best[1] : null;
}

/** Read an expression into a tree; an ExpressionError says where it breaks. */
function parse(text, names) {
  if (text.length > LONGEST_EXPRESSION) throw new ExpressionError("too long");
  const list = tokens(text, names);
  let at = 0;
  let depth = 0;
  const peek = () => list[at];
  const take = (kind, value) => {
    const token = list[at];
    if (!token || token.kind !== kind || (value !== undefined && token.value !== value)) return null;
    at++;
    return token;
  };
  const broken = (wanted) => {
    const token = peek();
    throw new ExpressionError(`expected ${wanted} ${token ? `at ${token.at + 1}, found ${token.value}` : "at the end"}`);
  };
  const or = () => {
    if (++depth > 100) throw new ExpressionError("nested too deeply");
    const parts = [and()];
    while (take("or")) parts.push(and());
    depth--;
    return parts.length > 1 ? { kind: "or", parts } : parts[0];
  };
  const and = () => {
    const parts = [not()];
    while (take("and")) parts.push(not());
    return parts.length > 1 ? { kind: "and", parts } : parts[0];
  };
  const not = () => {
    let negated = false;
    while (take("not")) negated = !negated;
    const part = test();
    return negated ? { kind: "not", part } : part;
  };
  const test = () => {
    const left = value();
    const token = peek();
    if (token?.kind === "mark" && /^([<>]=?|[!=]=)$/.test(token.value)) {
      at++;
      return { kind: "compare", mark: token.value, left, right: value() };
    }
    if (take("contains")) return { kind: "contains", left, right: value() };
    if (take("in")) {
      if (!take("mark", "(")) broken("(");
      const items = [value()];
      while (take("mark", ",")) items.push(value());
      if (!take("mark", ")")) broken(", or )");
      return { kind: "in", left, items };
    }
    if (take("is")) {
      if (left.kind !== "name") throw new ExpressionError("before is: expected the name of a metric");
      const negated = Boolean(take("not"));
      const state = peek();
      if (!state || !STATES.includes(state.value)) broken(STATES.join(", "));
      at++;
      return { kind: "is", name: left.name, state: state.value, negated };
    }
    return left;
  };
  const value = () => {
    const token = peek();
    if (!token) broken("a value");
    if (take("mark", "(")) {
      const inner = or();
      if (!take("mark", ")")) broken(")");
      return inner;
    }
    at++;
    if (token.kind === "number" || token.kind === "text") return { kind: "constant", value: token.value };
    if (token.kind === "true" || token.kind === "false") return { kind: "constant", value: token.kind === "true" };
    if (token.kind === "name" && names.includes(token.value)) return { kind: "name", name: token.value };
    if (token.kind === "word" || token.kind === "name") {
      const near = nearest(token.value, names);
      throw new ExpressionError(
        `unknown name ${token.value} at ${token.at + 1}: ${near ? `did you mean ${near}?` : `write a text as "${token.value}"`}`,
      );
    }
    at--;
    return broken("a value");
  };
  const tree = or();
  if (at < list.length) broken("and, or, or a comparison");
  return tree;
}

/** A number, where the value is one or reads as one. */
function asNumber(value) {
  if (typeof value === "number") return value;
  return typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value)) ? Number(value) : null;
}

function compare(mark, left, right) {
  if (left === null || left === undefined || right === null || right === undefined) return false;
  const a = asNumber(left);
  const b = asNumber(right);
  const [x, y] = a !== null && b !== null ? [a, b] : [String(left), String(right)];
  switch (mark) {
    case "<": return x < y;
    case "<=": return x <= y;
    case ">": return x > y;
    case ">=": return x >= y;
    case "==": return x === y;
    default: return x !== y;
  }
}

/** A function of a row from a tree. `fields` maps names to `{ get(row), state(row) }`. */
function compile(tree, fields) {
  const inner = (one) => compile(one, fields);
  switch (tree.kind) {
    case "constant": return () => tree.value;
    case "name": return fields[tree.name].get;
    case "not": {
      const part = inner(tree.part);
      return (row) => !part(row);
    }
    case "and": {
      const parts = tree.parts.map(inner);
      return (row) => parts.every((part) => part(row));
    }
    case "or": {
      const parts = tree.parts.map(inner);
      return (row) => parts.some((part) => part(row));
    }
    case "compare": {
      const [left, right] = [inner(tree.left), inner(tree.right)];
      return (row) => compare(tree.mark, left(row), right(row));
    }
    case "contains": {
      const [left, right] = [inner(tree.left), inner(tree.right)];
      return (row) => {
        const text = left(row);
        return text !== null && text !== undefined && String(text).toLowerCase().includes(String(right(row)).toLowerCase());
      };
    }
    case "in": {
      const left = inner(tree.left);
      const items = tree.items.map(inner);
      return (row) => items.some((item) => compare("==", left(row), item(row)));
    }
    case "is": {
      const { state } = fields[tree.name];
      if (!state) throw new ExpressionError(`${tree.name} is no metric: compare it with == instead`);
      return (row) => (state(row) === tree.state) !== tree.negated;
    }
  }
}

/** The names that a tree uses. */
function used(tree) {
  if (tree.kind === "name" || tree.kind === "is") return [tree.name];
  return [tree.left, tree.right, tree.part, ...(tree.parts ?? []), ...(tree.items ?? [])].filter(Boolean).flatMap(used);
}

/** Read an expression for rows of these fields: `{ test(row), names }`. */
function expression(text, fields) {
  const tree = parse(text, Object.keys(fields));
  return { test: compile(tree, fields), names: used(tree) };
}
