// Bytes -> one window of a run. The other side of pack.py and of envelope() in component.py.
const TYPES = {u1: Uint8Array, i1: Int8Array, u2: Uint16Array, i2: Int16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array};

export async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// What changes often (where to go, who is selected) travels before the picture, so that the picture's bytes stay the same.
export function openEnvelope(data) {
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data);
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const words = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  return {words, payload: bytes.subarray(4 + size)};
}

export function fingerprint(bytes) {  // FNV-1a over all bytes: a rerun without news must not draw again
  let hash = 2166136261;
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i], 16777619);
  return `${bytes.length}:${hash}`;
}

export async function decode(payload) {
  const view = new DataView(payload.buffer, payload.byteOffset), size = view.getUint32(0, true);
  const [head, body] = await Promise.all([inflate(payload.subarray(8, 8 + size)), inflate(payload.subarray(8 + size))]);
  const h = JSON.parse(new TextDecoder().decode(head));
  const columns = h.bufs.map(([type, offset, length]) => new TYPES[type](body.buffer, body.byteOffset + offset, length));
  [h.figure, h.phone] = h.figures;
  const column = n => n == null ? null : columns[n];
  const value = v => v && typeof v === "object" ? columns[v.c] : v;
  const label = v => "s" in v ? (ix => j => h.strings[ix[j]])(columns[v.s]) : (col => j => col[j])(columns[v.c]);

  for (const k of h.tracks) {
    if (k.kind === "playhead") { k.x = column(k.x); continue; }
    Object.assign(k, {o: column(k.o), row: column(k.row), ids: column(k.ids)});
    for (const name of ["x", "y", "x0", "x1", "y0", "y1"]) if (name in k) k[name] = value(k[name]);
    if (k.text) { const word = label(k.text), write = k.prefix.endsWith("r") ? String : readable; k.label = j => k.prefix + write(word(j)) + k.suffix; }
  }
  for (const m of h.images) {
    m.cells = frames(m.cells, columns, h.count);
    m.ids = m.ids && frames(m.ids, columns, h.count);
  }
  for (const a of h.areas) {
    for (const name of ["offsets", "row", "ids"]) a[name] = column(a[name]);
    for (const name in a.columns) { const word = label(a.columns[name]); a.columns[name] = j => readable(word(j)); }
  }
  for (const name in h.slots) { const ix = columns[h.slots[name]]; h.slots[name] = i => h.strings[ix[i]]; }
  for (const kind in h.marks) h.marks[kind] = columns[h.marks[kind]];
  h.clock = column(h.clock);
  for (const line of h.overview) line.values = columns[line.values];
  return h;
}

const GROUPED = new Intl.NumberFormat("en-US", {maximumFractionDigits: 2});
const readable = v => typeof v === "string" ? v : GROUPED.format(v);  // 1,234, but not in a request's name

function frames(sent, columns, count) {  // the first frame and the changes after it -> all frames
  const first = columns[sent.first], gaps = columns[sent.gaps], values = columns[sent.values], size = first.length;
  const all = new first.constructor(size * count);
  all.set(first);
  let n = 0, next = size + (gaps[0] ?? Infinity);
  for (let start = size; start < all.length; start += size) {
    all.copyWithin(start, start - size, start);
    for (; next < start + size; next += gaps[++n] ?? Infinity) all[next] = values[n];
  }
  return i => all.subarray(i * size, (i + 1) * size);
}
