// The pages about the codes of diagnostics. A diagnostic's code links to `hx-explain:/HX0203.md`, and the editor shows that
// document as it shows any Markdown: rendered, and without leaving the window.

const vscode = require('vscode');

const SCHEME = 'hx-explain';

/** The code that an address names, or null. */
const codeOf = (path) => /^\/(HX\d{4})\.md$/.exec(path)?.[1] ?? null;

class CodePages {
  #server;
  #registered;

  constructor(server) {
    this.#server = server;
    this.#registered = vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      provideTextDocumentContent: (uri) => this.#page(uri),
    });
  }

  async #page(uri) {
    const code = codeOf(uri.path);
    const page = code && (await this.#server.request('hx/explainCode', { code }, { quiet: true }));
    return page ? page.text : `There is no page about \`${uri.path.slice(1)}\`, or no server is running.`;
  }

  /** Opens the page of a code that a person names; proposes the code of the diagnostic at the cursor. */
  async open(editor) {
    const at = editor?.selection.active;
    const here = editor ? vscode.languages.getDiagnostics(editor.document.uri).find((it) => it.range.contains(at)) : undefined;
    const proposed = typeof here?.code === 'object' ? String(here.code.value) : (here?.code ?? '');
    const code = await vscode.window.showInputBox({
      prompt: 'The code of a diagnostic',
      value: String(proposed),
      placeHolder: 'HX0203',
      validateInput: (text) => (/^HX\d{4}$/i.test(text.trim()) ? null : 'HX and four digits, as in HX0203'),
    });
    if (code) await show(vscode.Uri.from({ scheme: SCHEME, path: `/${code.trim().toUpperCase()}.md` }));
  }

  dispose() {
    this.#registered.dispose();
  }
}

async function show(uri) {
  await vscode.commands.executeCommand('vscode.open', uri, { viewColumn: vscode.ViewColumn.Beside, preview: true });
}

module.exports = { CodePages, codeOf };
