// A text in the fragment of an address: compressed, and in the alphabet of addresses.

const through = async (bytes, stream) => {
  const body = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(body).arrayBuffer());
};

/** The fragment of a text: `#code=…`. */
export async function fragmentOf(text) {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream('deflate-raw'));
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return `#code=${btoa(binary).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')}`;
}

/** The longest text that a link may hold, in bytes: a small link can unfold to a large text. */
const MOST_BYTES = 1 << 20;

/** The text of a fragment; `null` if the fragment holds none. Throws if it is damaged. */
export async function textOf(fragment) {
  const code = new URLSearchParams(fragment.replace(/^#/, '')).get('code');
  if (code === null) return null;
  const binary = atob(code.replace(/-/g, '+').replace(/_/g, '/'));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
  const [parts, decoder] = [[], new TextDecoder('utf-8', { fatal: true })];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return parts.join('') + decoder.decode();
    length += value.length;
    if (length > MOST_BYTES) throw new Error(`the text of the link is longer than ${MOST_BYTES} bytes`);
    parts.push(decoder.decode(value, { stream: true }));
  }
}
