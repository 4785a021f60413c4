// What differs between two texts, word by word.

const MOST_WORDS = 1500;

/** The words and gaps of a text. */
const pieces = (text) => text.match(/[\p{L}\p{N}]+|\s+|[^\p{L}\p{N}\s]/gu) ?? [];

/**
 * Both texts in runs of `[same, text]`, by the longest common subsequence of their words. Texts beyond MOST_WORDS are
 * compared only at their ends.
 */
function difference(before, after) {
  const [a, b] = [pieces(before), pieces(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [x, y] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const kept = x.length * y.length <= MOST_WORDS ** 2 ? common(x, y) : { left: new Set(), right: new Set() };
  const mark = (list, middle, inCommon) => runs(list, (at) => at < start || at >= list.length - end || inCommon.has(at - start));
  return { before: mark(a, x, kept.left), after: mark(b, y, kept.right) };
}

/** The places, in both lists, of a longest common subsequence. */
function common(x, y) {
  const width = y.length + 1;
  const table = new Uint16Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; i--)
    for (let j = y.length - 1; j >= 0; j--)
      table[i * width + j] = x[i] === y[j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
  const [left, right] = [new Set(), new Set()];
  let [i, j] = [0, 0];
  while (i < x.length && j < y.length) {
    if (x[i] === y[j]) {
      left.add(i++);
      right.add(j++);
    } else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) i++;
    else j++;
  }
  return { left, right };
}

function runs(list, same) {
  const found = [];
  list.forEach((piece, at) => {
    const is = same(at);
    if (found.length && found.at(-1)[0] === is) found.at(-1)[1] += piece;
    else found.push([is, piece]);
  });
  return found;
}

/** Runs as nodes: what is only here stands in `tag` (del or ins). */
function marks(list, tag) {
  return list.map(([same, text]) => (same ? text : h(tag, {}, text)));
}
