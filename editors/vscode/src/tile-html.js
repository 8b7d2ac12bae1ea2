// The page of the tile view: its controls and its style. `tile-page.js` fills it.

const { escape } = require('./layout-html');
const { BASE, COLOUR } = require('./page-style');

const STYLE = `${BASE}
body { padding: 0 .8em; } main { display: flex; flex-direction: column; height: 100vh; } header { padding: .5em 0 .3em; }
.row { display: flex; flex-wrap: wrap; align-items: center; gap: .4em 1em; min-height: 1.9em; }
.moment { flex-wrap: nowrap; white-space: nowrap; } .moment code { font-weight: 600; overflow: hidden; text-overflow: ellipsis; } .faint { opacity: .8; } [hidden] { display: none !important; }
.fault { margin: .4em 0; padding: .35em .6em; border-left: 3px solid var(--vscode-errorForeground);
  background: var(--vscode-inputValidation-errorBackground); color: var(--vscode-inputValidation-errorForeground, var(--vscode-foreground)); }
select { font: inherit; padding: 1px 4px; color: var(--vscode-dropdown-foreground); background: var(--vscode-dropdown-background);
  border: 1px solid var(--vscode-dropdown-border); }
.control { display: inline-flex; align-items: center; gap: .35em; } button:disabled { opacity: .4; cursor: default; }
button:hover:not(:disabled) { background: var(--vscode-button-secondaryHoverBackground); }
.said, .answer { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; } .said { min-height: 1.5em; font-variant-numeric: tabular-nums; } .answer { min-height: 1.5em; font-style: italic; }
.sheet { overflow: auto; flex: 0 1 auto; min-height: 6em; } table { border-collapse: separate; border-spacing: 0; }
table:focus { outline: none; } table:focus-visible { outline: 1px solid var(--vscode-focusBorder); outline-offset: -1px; }
th { position: sticky; z-index: 1; font: 11px var(--vscode-editor-font-family), monospace; padding: 0 .5em; text-align: center;
  color: var(--vscode-editorLineNumber-foreground); background: var(--vscode-editor-background); }
thead th { top: 0; } tbody th { left: 0; } thead th:first-child { left: 0; z-index: 2; }
td { font: 12px var(--vscode-editor-font-family), monospace; color: var(--vscode-editor-foreground); padding: 0 .55em; height: 21px;
  min-width: calc(var(--characters) * 1ch); text-align: right; white-space: nowrap; cursor: default; position: relative;
  border-right: 1px solid var(--line); border-bottom: 1px solid var(--line); }
body { --line: var(--vscode-editorWidget-border, var(--vscode-contrastBorder)); --stripe: var(--vscode-editorLineNumber-foreground); }
td.coloured, .swatch.colour { background-color: ${COLOUR}; }
td.unwritten, td.foreign, td.filling { text-align: center; }
td.unwritten, .swatch.unwritten { background-color: transparent; background-image: radial-gradient(var(--stripe) 0.7px, transparent 1px);
  background-size: 7px 7px; }
td.filling, .swatch.filling { background-image: repeating-linear-gradient(135deg,
  color-mix(in srgb, var(--vscode-charts-blue) 60%, transparent) 0 2px, transparent 2px 7px); }
td.foreign, .swatch.foreign { background-color: transparent;
  background-image: repeating-linear-gradient(45deg, transparent 0 4px, var(--stripe) 4px 5px); }
td.unwritten, td.foreign { color: var(--vscode-editorLineNumber-foreground); }
td.mine, .swatch.mine { box-shadow: inset 0 0 0 2px var(--vscode-focusBorder); }
td.changed::after, .swatch.changed::after { content: ''; position: absolute; top: 0; right: 0; border-style: solid; border-width: 0 8px 8px 0;
  border-color: transparent var(--vscode-editorWarning-foreground) transparent transparent; }
td.at { outline: 2px solid var(--vscode-editorWarning-foreground); outline-offset: -1px; z-index: 1; }
.small td { font-size: 0; padding: 0; width: var(--box); min-width: var(--box); height: var(--box); border-width: 0; }
.small th { display: none; } .small td.mine { box-shadow: inset 0 0 0 1px var(--vscode-focusBorder); }
.small td.changed::after { border-width: 0 4px 4px 0; }
.legend { gap: .3em 1.4em; padding: .5em 0; } .legend span { display: inline-flex; align-items: center; gap: .45em; }
.swatch { position: relative; width: 16px; height: 14px; border: 1px solid var(--line); --hue: 137; --shade: 0; }
.swatch.colour { background-image: linear-gradient(90deg, hsl(0 var(--saturation) var(--first)) 50%, transparent 50%); }
`;

/** The page. `script` is the address of `tile-page.js`. */
function page({ nonce, script }) {
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}';">
<style nonce="${nonce}">${STYLE}</style></head>
<body>
<p class="idle">No kernel is stepped through. “hx: Step through This Test” and “Debug Test” in the test explorer begin.</p>
<main hidden>
<header>
<div class="row moment"><code class="operation"></code><span class="step faint"></span><span class="thread faint"></span></div>
<p class="fault" role="alert" hidden></p>
<div class="row"><select class="tensor" aria-label="Tensor"></select><span class="controls row"></span>
<button class="size" hidden>Fit the width</button></div>
<div class="said" role="status"></div>
<div class="row"><button data-command="last">Last write</button><button data-command="after">Next write</button>
<button data-command="last read">Last read</button><button data-command="after read">Next read</button></div>
<div class="answer" role="status"></div>
</header>
<div class="sheet"></div>
<div class="row legend"></div>
</main>
<script nonce="${nonce}" src="${escape(script)}"></script></body></html>`;
}

module.exports = { page };
