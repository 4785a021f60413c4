// The data of the page: one packed block a line, unpacked when it is looked at and then kept.

/** What one packed line holds. */
async function unpack(line) {
  const stream = new Blob([fromBase64(line)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).json();
}

function fromBase64(line) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(line);
  const text = atob(line);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/** Items by number out of the lines of one element. */
class Blocks {
  constructor(id, starts) {
    this.starts = starts;
    this.id = id;
    this.kept = [];
  }

  /** Unpack one block, once. */
  block(at) {
    this.lines ??= byId(this.id).textContent.split("\n");
    this.kept[at] ??= unpack(this.lines[at]);
    return this.kept[at];
  }

  async item(number) {
    let at = this.starts.length - 1;
    while (this.starts[at] > number) at--;
    return (await this.block(at))[number - this.starts[at]];
  }

  async all() {
    const parts = await Promise.all(this.starts.map((_, at) => this.block(at)));
    return parts.flat();
  }
}

/** The whole store: `core` at once, the rest by number. */
async function openStore() {
  const core = await unpack(byId("data-core").textContent);
  const blocks = (name) => new Blocks(`data-${name}`, core.starts[name]);
  return { core, texts: blocks("texts"), contexts: blocks("contexts"), details: blocks("details"), exchanges: blocks("exchanges") };
}
