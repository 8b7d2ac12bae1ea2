// The page of the layout view. Knows nothing of the editor: answers of the server in, HTML out.

const escape = (text) =>
  String(text).replace(/[&<>"']/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[c]);

/** Markdown's code spans, as the server writes them in reasons. */
const inline = (text) => escape(text).replace(/`([^`]+)`/g, '<code>$1</code>');

/** A place to jump to, for the script below. */
const link = (location, text) =>
  location
    ? `<a href="#" data-location="${escape(JSON.stringify(location))}">${text}</a>`
    : text;

/** Only what draws: a picture holds no script and loads nothing. */
function picture(svg, title) {
  const data = Buffer.from(svg, 'utf8').toString('base64');
  return `<img class="drawing" alt="${escape(title)}" src="data:image/svg+xml;base64,${data}">`;
}

function drawing({ title, kind, svg, unicode }) {
  const shown = svg ? picture(svg, title ?? kind) : `<pre>${escape(unicode ?? '')}</pre>`;
  // A picture has its title in it.
  const caption = svg ? '' : `<figcaption>${inline(title ?? kind)}</figcaption>`;
  return `<figure>${caption}<div class="sheet">${shown}</div></figure>`;
}

function tensor(t) {
  const facts = `${escape(t.space)} ${escape(t.dtype)}[${t.shape.map(escape).join(', ')}]`;
  const alias = t.alias ? `<span class="alias">⟨${escape(t.alias)}⟩</span>` : '';
  const reason = t.reason ? `<p class="reason">${link(t.forcedBy, inline(t.reason))}</p>` : '';
  return `<section>
<h2>${escape(t.name)} <small>${facts}</small> ${alias}</h2>
<p class="layout"><code>${escape(t.layout)}</code></p>
${reason}
${(t.drawings ?? []).map(drawing).join('\n')}
</section>`;
}

function step({ what, reason, location, from }) {
  const because = reason ? `<div class="reason">${inline(reason)}</div>` : '';
  const below = from && from.length > 0 ? `<ul>${from.map(step).join('')}</ul>` : '';
  return `<li>${link(location, `<code>${escape(what)}</code>`)}${because}${below}</li>`;
}

const STYLE = `
body { font-family: var(--vscode-font-family); color: var(--vscode-foreground); padding: 0 1.2em 1.2em; }
h2 { font-size: 1.15em; margin: 1em 0 .3em; } h2 small { font-weight: normal; opacity: .8; }
h3 { font-size: 1em; margin: 1.4em 0 .4em; }
code, pre { font-family: var(--vscode-editor-font-family); }
.alias { color: var(--vscode-editorInlayHint-foreground); background: var(--vscode-editorInlayHint-background);
  border-radius: 3px; padding: 0 .35em; font-weight: normal; font-size: .9em; }
.layout { overflow-wrap: anywhere; margin: .3em 0; } .reason { margin: .3em 0; opacity: .9; }
figure { margin: .8em 0; } figcaption { opacity: .8; margin-bottom: .3em; }
.sheet { background: #fff; color: #000; display: inline-block; padding: 8px; border-radius: 4px; max-width: 100%; box-sizing: border-box; overflow: auto; max-height: 75vh; }
.drawing { display: block; max-width: 100%; height: auto; cursor: zoom-in; }
.drawing.whole { max-width: none; cursor: zoom-out; }
ul { padding-left: 1.2em; } li { margin: .35em 0; }
a { color: var(--vscode-textLink-foreground); text-decoration: none; } a:hover { text-decoration: underline; }
.empty { opacity: .8; }
`;

const SCRIPT = `
const editor = acquireVsCodeApi();
// A drawing fits the view unless that leaves its numbers unreadable; a click changes between that and full size.
for (const drawing of document.querySelectorAll('.drawing')) {
  const settle = () => drawing.classList.toggle('whole', drawing.naturalWidth > 2 * drawing.clientWidth);
  if (drawing.complete) settle();
  else drawing.addEventListener('load', settle);
}
document.addEventListener('click', (event) => {
  if (event.target.matches('.drawing')) event.target.classList.toggle('whole');
  const link = event.target.closest('a[data-location]');
  if (!link) return;
  event.preventDefault();
  editor.postMessage({ open: JSON.parse(link.dataset.location) });
});
`;

/** The whole page. `layout` is the answer to hx/layout, `reasons` that to hx/explainLayout; both may be null. */
function page({ layout, reasons, nonce }) {
  const tensors = layout?.tensors ?? [];
  const chain = reasons?.steps?.length ? `<h3>Why</h3><ul>${reasons.steps.map(step).join('')}</ul>` : '';
  const body =
    tensors.length > 0
      ? tensors.map(tensor).join('\n') + chain
      : '<p class="empty">Put the cursor on a tensor to see its layout.</p>';
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}';">
<style nonce="${nonce}">${STYLE}</style></head>
<body>${body}<script nonce="${nonce}">${SCRIPT}</script></body></html>`;
}

module.exports = { escape, inline, page };
