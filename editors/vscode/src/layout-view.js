// The layout at the cursor, drawn, with the reasons for it.

const crypto = require('node:crypto');
const vscode = require('vscode');
const { page } = require('./layout-html');

const DELAY_MS = 150;

class LayoutView {
  #server;
  /** The folder of the page's script. */
  #files;
  /** @type {vscode.WebviewPanel | null} */
  #panel = null;
  #timer = null;
  #generation = 0;
  #disposables;

  constructor(server, extensionUri) {
    this.#server = server;
    this.#files = vscode.Uri.joinPath(extensionUri, 'dist');
    this.#disposables = [
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.#soon(textEditor)),
      vscode.workspace.onDidSaveTextDocument(() => this.#soon(vscode.window.activeTextEditor)),
    ];
  }

  async show(editor) {
    if (!this.#panel) {
      const options = { enableScripts: true, localResourceRoots: [this.#files], retainContextWhenHidden: true };
      const where = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
      this.#panel = vscode.window.createWebviewPanel('hx.layout', 'Layout', where, options);
      this.#panel.onDidDispose(() => (this.#panel = null));
      this.#panel.webview.onDidReceiveMessage(({ open }) => open && this.#open(open));
    }
    await this.#update(editor, true);
  }

  #soon(editor) {
    if (!this.#panel || editor?.document.languageId !== 'hx') return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#update(editor, false), DELAY_MS);
  }

  /** Without a tensor at the cursor the last one stays, unless someone asked. */
  async #update(editor, asked) {
    const generation = ++this.#generation;
    const place = this.#server.place(editor.document, editor.selection.active);
    const quiet = { quiet: !asked };
    const layout = await this.#server.request('hx/layout', { ...place, form: 'cells' }, quiet);
    if (!layout && !asked) return;
    const reasons = layout ? await this.#server.request('hx/explainLayout', place, { quiet: true }) : null;
    if (!this.#panel || generation !== this.#generation) return;
    const name = layout?.tensors[0]?.name;
    this.#panel.title = name ? `Layout: ${name}` : 'Layout';
    const nonce = crypto.randomBytes(16).toString('base64');
    const { webview } = this.#panel;
    const script = String(webview.asWebviewUri(vscode.Uri.joinPath(this.#files, 'layout-page.js')));
    webview.html = page({ layout, reasons, nonce, script });
  }

  async #open({ uri, range }) {
    const { start, end } = range;
    const selection = new vscode.Range(start.line, start.character, end.line, end.character);
    await vscode.window.showTextDocument(vscode.Uri.parse(uri), { selection, viewColumn: vscode.ViewColumn.One });
  }

  dispose() {
    clearTimeout(this.#timer);
    this.#panel?.dispose();
    for (const it of this.#disposables) it.dispose();
  }
}

module.exports = { LayoutView };
