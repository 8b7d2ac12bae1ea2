// The style that the pages of the extension share: fonts, controls, and the colours of threads and banks in each kind of theme.

const BASE = `
body { font-family: var(--vscode-font-family); color: var(--vscode-foreground); padding: 0 1.2em 1.2em; }
code, pre { font-family: var(--vscode-editor-font-family); }
input { width: 5em; font: inherit; color: var(--vscode-input-foreground); background: var(--vscode-input-background);
  border: 1px solid var(--vscode-input-border, var(--vscode-panel-border)); }
button { font: inherit; padding: 1px .7em; cursor: pointer; border: 1px solid var(--vscode-button-border, transparent); border-radius: 2px;
  color: var(--vscode-button-secondaryForeground); background: var(--vscode-button-secondaryBackground); }
body { --saturation: 45%; --first: 29%; --more: 5%; } body.vscode-light { --saturation: 70%; --first: 78%; --more: 5%; }
body.vscode-high-contrast { --saturation: 60%; --first: 14%; } body.vscode-high-contrast-light { --saturation: 70%; --first: 86%; }
`;

/** The colour of an element with the properties `--hue` and `--shade`. */
const COLOUR = 'hsl(var(--hue) var(--saturation) calc(var(--first) + var(--shade) * var(--more)))';

module.exports = { BASE, COLOUR };
