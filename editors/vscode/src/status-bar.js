// The item in the status bar: the device of tests, the target of layouts, and the instance that is shown of the kernel at the cursor.

const vscode = require('vscode');
const { argumentsText, kernelAt, statusDetail, statusText } = require('./chosen');
const { configuration } = require('./server');

const DELAY_MS = 300;
const DEVICES = [
  ['auto', 'the GPU if there is one, else the simulator'],
  ['sim', 'the simulator'],
  ['cuda', 'the GPU, and a failure without one'],
];
const TARGETS = ['sm_80', 'sm_89', 'sm_90a'];

class StatusBar {
  #server;
  #item = vscode.window.createStatusBarItem('hx.chosen', vscode.StatusBarAlignment.Right, 100);
  #timer = null;
  /** What the server said of a document: asked again when its text or the choice changed. */
  #known = { uri: '', version: -1, kernels: [] };
  #disposables;

  constructor(server) {
    this.#server = server;
    this.#item.name = 'hx: device, target and instance';
    this.#item.command = 'hx.choose';
    const soon = () => this.#soon();
    const anew = () => this.#anew();
    this.#disposables = [
      this.#item,
      vscode.window.onDidChangeActiveTextEditor(soon),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => textEditor.document.languageId === 'hx' && soon()),
      vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration('hx') && anew()),
      server.onDidChoose(anew),
    ];
    soon();
  }

  #anew() {
    this.#known = { uri: '', version: -1, kernels: [] };
    this.#soon();
  }

  #soon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#update(), DELAY_MS);
  }

  async #update() {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.languageId !== 'hx') {
      // A view of generated code or of a layout belongs to the kernel beside it: the item stays.
      if (editor && !vscode.window.visibleTextEditors.some((it) => it.document.languageId === 'hx')) this.#item.hide();
      return;
    }
    const chosen = await this.chosen(editor);
    this.#item.text = statusText(chosen);
    this.#item.tooltip = new vscode.MarkdownString(statusDetail(chosen));
    this.#item.show();
  }

  /** The device, the target, and the kernel at the cursor as hx/costs tells of it. */
  async chosen(editor) {
    const kernels = await this.#kernels(editor.document);
    const kernel = kernelAt(kernels, editor.selection.active.line);
    const device = configuration().get('test.device') || 'auto';
    const target = kernel?.target ?? (configuration().get('target') || this.#server.target);
    return { device, target, kernel };
  }

  async #kernels(document) {
    const uri = String(document.uri);
    const { version } = document;
    if (this.#known.uri === uri && this.#known.version === version) return this.#known.kernels;
    const kernels = await this.#server.request('hx/costs', { textDocument: { uri } }, { quiet: true });
    if (kernels) this.#known = { uri, version, kernels };
    return kernels ?? (this.#known.uri === uri ? this.#known.kernels : []);
  }

  /** Asks what to change, and changes it. `chooseInstance` asks for the instance of a kernel. */
  async choose(editor, chooseInstance) {
    const { device, target, kernel } = await this.chosen(editor);
    const group = (label) => ({ label, kind: vscode.QuickPickItemKind.Separator });
    const mark = (is) => (is ? '$(check) ' : '');
    const own = configuration().get('target') ?? '';
    const items = [
      group('Device of tests'),
      ...DEVICES.map(([name, detail]) => ({ label: mark(name === device) + name, description: detail, device: name })),
      ...(DEVICES.some(([name]) => name === device) ? [] : [{ label: mark(true) + device, device }]),
      { label: 'cuda:N…', description: 'one of several GPUs', device: null },
      group('Target of layouts'),
      { label: `${mark(own === '')}that of the project`, description: own === '' ? target : 'hx.toml', target: '' },
      ...TARGETS.map((name) => ({ label: mark(name === own) + name, target: name })),
    ];
    if (kernel) {
      items.push(group(`Instance of ${kernel.kernel}`));
      items.push({ label: 'Choose…', description: argumentsText(kernel.args), instance: true });
      items.push({ label: 'The default', description: 'the defaults of all compile-time parameters', reset: true });
    }
    const chosen = await vscode.window.showQuickPick(items, { placeHolder: 'What to change', matchOnDescription: true });
    if (!chosen) return;
    if (chosen.device !== undefined) await this.#setDevice(chosen.device);
    else if (chosen.target !== undefined) await set('target', chosen.target);
    else if (chosen.instance) await chooseInstance(kernel);
    else if (chosen.reset) await this.#server.showInstance(String(editor.document.uri), kernel.kernel, {});
  }

  async #setDevice(device) {
    const validateInput = (text) => (/^cuda:\d+$/.test(text) ? null : 'cuda: and the number of a GPU, as in cuda:1');
    const prompt = 'The GPU that tests run on';
    const chosen = device ?? (await vscode.window.showInputBox({ prompt, value: 'cuda:0', validateInput }));
    if (chosen) await set('test.device', chosen);
  }

  dispose() {
    clearTimeout(this.#timer);
    for (const it of this.#disposables) it.dispose();
  }
}

/** Sets a setting for this workspace, or for the user if no folder is open. */
async function set(name, value) {
  const where = vscode.workspace.workspaceFolders ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
  await configuration().update(name, value, where);
}

module.exports = { StatusBar };
