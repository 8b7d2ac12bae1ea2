// The kind of the editor's theme, as the server takes it. Knows nothing of the editor: 1 is light, 2 dark, 3 and 4 are those
// with high contrast, as `vscode.ColorThemeKind` numbers them.

const themeOf = (kind) => (kind === 1 || kind === 4 ? 'light' : 'dark');

module.exports = { themeOf };
