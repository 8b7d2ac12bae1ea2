// Adds a link "Open in the playground" to the blocks of hx. The link holds the text of the block, compressed, as the playground's own
// links do (editors/web/src/share.js).

(() => {
  const fragment = async (text) => {
    const body = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
    const bytes = new Uint8Array(await new Response(body).arrayBuffer());
    const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
    return `#code=${btoa(binary).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')}`;
  };

  const add = async (code) => {
    const block = code.closest('pre');
    // mdBook prints this page's distance from the root.
    const address = `${path_to_root}playground/index.html${await fragment(code.textContent)}`;
    const link = document.createElement('a');
    link.href = address;
    link.textContent = 'Open in the playground';
    link.style.cssText = 'display: block; text-align: right; font-size: .8em; margin: -1em 0 1em;';
    block.after(link);
  };

  document.querySelectorAll('pre > code[class*="language-hx"]').forEach(add);
})();
