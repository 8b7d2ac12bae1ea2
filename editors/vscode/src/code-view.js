// A stage of a kernel as a read-only document beside its source; the lines of one follow the cursor in the other.

const vscode = require('vscode');
const { LANGUAGES, fileName, partners } = require('./code-map');
const { ReadOnlyTexts } = require('./read-only');

const SCHEME = 'hx-code';

class CodeView {
  #server;
  #texts = new ReadOnlyTexts(SCHEME, (address) => this.#documents.delete(address));
  /** By address: the source, the map, and what it was asked with. */
  #documents = new Map();
  #mark = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('editor.rangeHighlightBackground'),
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.rangeHighlightForeground'),
    overviewRulerLane: vscode.OverviewRulerLane.Full,
  });
  #disposables;

  constructor(server) {
    this.#server = server;
    this.#disposables = [
      this.#texts,
      this.#mark,
      vscode.window.onDidChangeTextEditorSelection((event) => this.#follow(event)),
      vscode.workspace.onDidSaveTextDocument((document) => this.#renew(document)),
    ];
  }

  /** Opens `stage` of a kernel of `document`: the one of that name, or the one around `position`. */
  async open({ document, stage, kernel = null, position = null, args = undefined }) {
    const params = {
      textDocument: { uri: String(document.uri) },
      kernel,
      position: position && this.#server.place(document, position).position,
      stage,
      args,
    };
    const made = await this.#make(document.uri, params);
    if (!made) return;
    const { uri, entry, answer } = made;
    await this.#texts.show(uri, answer.text, LANGUAGES[answer.language]);
    const source = vscode.window.visibleTextEditors.find((it) => String(it.document.uri) === entry.source);
    if (source) this.#show(entry, String(uri), 'source', source.selection.active.line);
  }

  /** Asks for a stage, and keeps it under an address. */
  async #make(source, params) {
    const answer = await this.#server.request('hx/emit', params);
    if (!answer) return null;
    for (const warning of answer.warnings ?? []) vscode.window.showWarningMessage(`hx: ${warning}`);
    const uri = this.#texts.address(fileName({ ...answer, args: params.args }), source);
    const entry = { source: String(source), lines: answer.lines ?? [], params };
    this.#documents.set(String(uri), entry);
    return { uri, entry, answer };
  }

  /** Opens two texts of a kernel in the editor's view of differences. `left` and `right` have a stage, and may have arguments. */
  async compare({ editor, kernel = null, left, right }) {
    const { document, selection } = editor;
    const common = {
      textDocument: { uri: String(document.uri) },
      kernel,
      position: kernel ? null : this.#server.place(document, selection.active).position,
    };
    const sides = [];
    for (const { stage, args } of [left, right]) {
      const made = await this.#make(document.uri, { ...common, stage, args });
      if (!made) return;
      await this.#texts.load(made.uri, made.answer.text, LANGUAGES[made.answer.language]);
      sides.push(made.uri);
    }
    const [one, other] = sides.map((uri) => uri.path.slice(1));
    await vscode.commands.executeCommand('vscode.diff', ...sides, `${one} ↔ ${other}`);
  }

  #follow({ textEditor, kind }) {
    if (kind === undefined) return;
    const address = String(textEditor.document.uri);
    const line = textEditor.selection.active.line;
    const own = this.#documents.get(address);
    if (own) this.#show(own, address, 'emitted', line);
    else
      for (const [uri, entry] of this.#documents) {
        if (entry.source === address) this.#show(entry, uri, 'source', line);
      }
  }

  #show(entry, uri, from, line) {
    for (const editor of vscode.window.visibleTextEditors) {
      const address = String(editor.document.uri);
      const isTarget = from === 'source' ? address === uri : address === entry.source;
      const isOrigin = from === 'source' ? address === entry.source : address === uri;
      if (isOrigin) editor.setDecorations(this.#mark, []);
      if (!isTarget) continue;
      const ranges = partners(entry.lines, from, line).map(([first, last]) => new vscode.Range(first, 0, last, 0));
      editor.setDecorations(this.#mark, ranges);
      if (ranges[0]) editor.revealRange(ranges[0], vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    }
  }

  /** What is shown of a document is asked anew once it is saved; where the kernel has errors the old text stays. */
  async #renew(document) {
    for (const [address, entry] of this.#documents) {
      if (entry.source !== String(document.uri)) continue;
      const answer = await this.#server.request('hx/emit', entry.params, { quiet: true });
      if (!answer) continue;
      entry.lines = answer.lines ?? [];
      this.#texts.set(vscode.Uri.parse(address), answer.text);
    }
  }

  dispose() {
    for (const it of this.#disposables) it.dispose();
  }
}

module.exports = { CodeView };
