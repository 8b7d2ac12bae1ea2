// The page of the layout view. Knows nothing of the editor: answers of the server in, HTML out.

const { BASE, COLOUR } = require('./page-style');

const escape = (text) =>
  String(text).replace(/[&<>"']/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[c]);

/** Markdown's code spans, as the server writes them in reasons. */
const inline = (text) => escape(text).replace(/`([^`]+)`/g, '<code>$1</code>');

/** A place to jump to, for the script below. */
const link = (location, text) =>
  location
    ? `<a href="#" data-location="${escape(JSON.stringify(location))}">${text}</a>`
    : text;

/** What a drawing shows, and what a person does with it. */
const KINDS = {
  threads: ['Threads and values', 'Point at an element, or move with the arrow keys: all elements of its thread light up.'],
  memory: ['Offsets in elements', 'Point at an element, or move with the arrow keys.'],
  banks: ['Banks', 'Point at an element, or move with the arrow keys: all elements of its bank light up.'],
};

/** A place for a drawing: the script draws into the sheet. */
function drawing({ kind }, tensor, at) {
  const [caption, hint] = KINDS[kind] ?? [kind, ''];
  const thread =
    kind === 'threads' ? '<label>Thread <input class="thread" type="number" min="0" step="1"></label>' : '';
  return `<figure data-tensor="${tensor}" data-drawing="${at}">
<figcaption><b>${escape(caption)}</b> ${thread} <button class="size" hidden>Full size</button></figcaption>
<p class="said" role="status" data-hint="${escape(hint)}">${escape(hint)}</p>
<div class="sheet"></div></figure>`;
}

function tensor(t, at) {
  const drawings = t.drawings ?? [];
  const facts = `${escape(t.space)} ${escape(t.dtype)}[${t.shape.map(escape).join(', ')}]`;
  const alias = t.alias ? `<span class="alias">⟨${escape(t.alias)}⟩</span>` : '';
  const reason = t.reason ? `<p class="reason">${link(t.forcedBy, inline(t.reason))}</p>` : '';
  return `<section>
<h2>${escape(t.name)} <small>${facts}</small> ${alias}</h2>
<p class="layout"><code>${escape(t.layout)}</code></p>
${reason}
${drawings.length > 0 ? drawings.map((it, i) => drawing(it, at, i)).join('\n') : TOO_LARGE}
</section>`;
}

function step({ what, reason, location, from }) {
  const because = reason ? `<div class="reason">${inline(reason)}</div>` : '';
  const below = from && from.length > 0 ? `<ul>${from.map(step).join('')}</ul>` : '';
  return `<li>${link(location, `<code>${escape(what)}</code>`)}${because}${below}</li>`;
}

const STYLE = `${BASE}
h2 { font-size: 1.15em; margin: 1em 0 .3em; } h2 small { font-weight: normal; opacity: .8; }
h3 { font-size: 1em; margin: 1.4em 0 .4em; }
.alias { color: var(--vscode-editorInlayHint-foreground); background: var(--vscode-editorInlayHint-background);
  border-radius: 3px; padding: 0 .35em; font-weight: normal; font-size: .9em; }
.layout { overflow-wrap: anywhere; margin: .3em 0; } .reason { margin: .3em 0; opacity: .9; }
figure { margin: 1em 0; } figcaption { display: flex; flex-wrap: wrap; align-items: center; gap: .3em 1em; min-height: 1.8em; }
figcaption > * { white-space: nowrap; }
figcaption label { opacity: .9; }
.said { margin: .2em 0 .4em; opacity: .9; min-height: 1.4em; font-variant-numeric: tabular-nums; }
.sheet { overflow: auto; max-height: 80vh; } .sheet svg { display: block; overflow: visible; touch-action: manipulation; }
.sheet svg:focus { outline: none; } .sheet svg:focus-visible { outline: 1px solid var(--vscode-focusBorder); }
svg text { font: 12px var(--vscode-editor-font-family), monospace; text-anchor: middle; fill: var(--vscode-editor-foreground);
  pointer-events: none; }
svg .number { fill: var(--vscode-editorLineNumber-foreground); } svg line { stroke: var(--vscode-editorLineNumber-activeForeground); stroke-width: 1.5; }
.cell rect { fill: ${COLOUR};
  stroke: var(--vscode-editorWidget-border, var(--vscode-contrastBorder)); stroke-width: .7; }
.empty rect { fill: transparent; } .small .cell text, .small .number { display: none; } .small rect { stroke-width: 0; }
.lighting .cell { opacity: .25; } .lighting .lit { opacity: 1; }
rect, line { vector-effect: non-scaling-stroke; }
.lit rect { stroke: var(--vscode-focusBorder); stroke-width: 2; } .small .lit rect { stroke-width: 1; }
.at rect { stroke: var(--vscode-editorWarning-foreground); stroke-width: 3; } .small .at rect { stroke-width: 2; }
ul { padding-left: 1.2em; } li { margin: .35em 0; }
a { color: var(--vscode-textLink-foreground); text-decoration: none; } a:hover { text-decoration: underline; }
.empty { opacity: .8; }
`;

const TOO_LARGE = '<p class="empty">A layout of more than 16384 elements is not drawn.</p>';

/** Data inside of a script element: no `<` in it ends the element. */
const data = (value) => JSON.stringify(value).replace(/</g, '\\u003c');

/** The contents of the view. `layout` is the answer to hx/layout with cells, `reasons` that to hx/explainLayout; both may be null. */
function content({ layout, reasons }) {
  const tensors = layout?.tensors ?? [];
  const chain = reasons?.steps?.length ? `<h3>Why</h3><ul>${reasons.steps.map(step).join('')}</ul>` : '';
  return tensors.length > 0
    ? tensors.map(tensor).join('\n') + chain
    : '<p class="empty">Put the cursor on a tensor to see its layout.</p>';
}

/** The whole page, with `content`. `script` is the address of `layout-page.js`. */
function page({ layout, reasons, nonce, script }) {
  const tensors = layout?.tensors ?? [];
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}';">
<style nonce="${nonce}">${STYLE}</style></head>
<body>${content({ layout, reasons })}
<script type="application/json" nonce="${nonce}" id="drawings">${data({ tensors })}</script>
<script nonce="${nonce}" src="${escape(script)}"></script></body></html>`;
}

module.exports = { STYLE, content, escape, inline, page };
