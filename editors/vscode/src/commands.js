// Commands: those of the palette, and those that the server's lenses carry.

const vscode = require('vscode');

const STAGES = [
  ['cuda', 'CUDA C++ with inline PTX'],
  ['ptx', 'what the CUDA compiler makes of it'],
  ['sass', 'the instructions of the machine'],
  ['layouts', 'layouts, instructions and reasons'],
  ['tile', 'the tile program'],
  ['thread', 'the thread program'],
  ['constraints', 'what the solver was asked'],
];

/** The editor with an `.hx` file that has, or had, the focus. */
function hxEditor() {
  const active = vscode.window.activeTextEditor;
  if (active?.document.languageId === 'hx') return active;
  const visible = vscode.window.visibleTextEditors.find((it) => it.document.languageId === 'hx');
  if (!visible) vscode.window.showInformationMessage('hx: open an .hx file first.');
  return visible;
}

function registerCommands(context, { server, code, layout, tests, texts }) {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand(name, run));
  const withEditor = (run) => async (...args) => {
    const editor = hxEditor();
    if (editor) await run(editor, ...args);
  };

  command('hx.showLayout', withEditor((editor) => layout.show(editor)));
  command('hx.explainLayout', withEditor((editor) => explain(server, texts, editor)));
  command('hx.showCode', withEditor((editor) => chooseCode(code, editor)));
  for (const [name, stage] of [['hx.showCuda', 'cuda'], ['hx.showPtx', 'ptx'], ['hx.showSass', 'sass']]) {
    command(name, (argument) => showStage(code, stage, argument));
  }
  command('hx.showCosts', (argument) => showCosts(server, argument));
  command('hx.chooseInstance', withEditor((editor) => chooseInstance(server, editor)));
  command('hx.runTest', (argument) => runTest(tests, argument));
  command('hx.run', (argument) => terminal(server, 'run', argument));
  command('hx.bench', (argument) => terminal(server, 'bench', argument));
  command('hx.doctor', () => terminal(server, 'doctor', {}));
  command('hx.syntaxTree', withEditor((editor) => syntaxTree(server, texts, editor)));
  command('hx.serverStatus', () => showStatus(server));
  command('hx.restart', () => server.restart());
  command('hx.showLog', () => server.log.show());
}

async function explain(server, texts, editor) {
  const place = server.place(editor.document, editor.selection.active);
  const answer = await server.request('hx/explainLayout', place);
  if (answer) await texts.show(texts.address('why.txt', editor.document.uri), answer.text);
  else if (answer === null) vscode.window.showInformationMessage('hx: the cursor is on no tensor with a layout.');
}

async function chooseCode(code, editor) {
  const items = STAGES.map(([label, description]) => ({ label, description }));
  const chosen = await vscode.window.showQuickPick(items, { placeHolder: 'What to show of the kernel at the cursor' });
  if (chosen) await openStage(code, editor, chosen.label);
}

function openStage(code, editor, stage) {
  return code.open({ document: editor.document, stage, position: editor.selection.active });
}

async function showStage(code, stage, argument) {
  if (!argument) {
    const editor = hxEditor();
    if (editor) await openStage(code, editor, stage);
    return;
  }
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(argument.uri));
  await code.open({ document, stage, kernel: argument.kernel });
}

async function showCosts(server, argument) {
  const uri = argument?.uri ?? (hxEditor() && String(hxEditor().document.uri));
  if (!uri) return;
  const kernels = await server.request('hx/costs', { textDocument: { uri }, kernel: argument?.kernel });
  if (!kernels) return;
  const items = kernels.map((it) => ({
    label: it.kernel,
    description: `${it.target}, ${it.threads} threads`,
    detail: it.summary,
  }));
  await vscode.window.showQuickPick(items, { placeHolder: 'Costs of the kernels of this file' });
}

async function chooseInstance(server, editor) {
  const uri = String(editor.document.uri);
  const kernels = await server.request('hx/costs', { textDocument: { uri } });
  if (!kernels || kernels.length === 0) return;
  const describe = (args) => Object.entries(args ?? {}).map(([name, value]) => `${name}=${value}`).join(' ');
  const items = kernels.map((it) => ({ label: it.kernel, description: describe(it.args) }));
  const chosen = items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { placeHolder: 'Kernel' });
  if (!chosen) return;
  const typed = await vscode.window.showInputBox({
    prompt: `Compile-time arguments of ${chosen.label}; nothing for the default instance`,
    value: chosen.description,
    validateInput: (text) => (parseArguments(text) ? null : 'NAME=VALUE, with spaces between'),
  });
  if (typed === undefined) return;
  const args = parseArguments(typed);
  const argument = { textDocument: { uri }, kernel: chosen.label, args: Object.keys(args).length > 0 ? args : undefined };
  await server.request('workspace/executeCommand', { command: 'hx.showInstance', arguments: [argument] });
}

/** `BM=128 T=bf16` as an object, or null. Values hold no spaces. */
function parseArguments(text) {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const args = {};
  for (const word of words) {
    const found = /^([A-Za-z_]\w*)=(.+)$/.exec(word);
    if (!found) return null;
    args[found[1]] = found[2];
  }
  return args;
}

async function runTest(tests, argument) {
  await tests.runNamed(argument);
}

async function terminal(server, verb, argument) {
  const program = await server.program();
  if (!program) return;
  const uri = argument?.uri ? vscode.Uri.parse(argument.uri) : hxEditor()?.document.uri;
  const args = [verb];
  if (verb !== 'doctor') {
    if (!uri) return;
    args.push(uri.fsPath);
    if (argument?.filter) args.push(argument.filter);
  }
  const cwd = uri && vscode.workspace.getWorkspaceFolder(uri)?.uri;
  const task = new vscode.Task(
    { type: 'hx', verb },
    vscode.TaskScope.Workspace,
    `hx ${verb}`,
    'hx',
    new vscode.ProcessExecution(program, args, { cwd: cwd?.fsPath, env: server.environment }),
  );
  await vscode.tasks.executeTask(task);
}

async function syntaxTree(server, texts, editor) {
  const uri = String(editor.document.uri);
  const tree = await server.request('hx/syntaxTree', { textDocument: { uri }, range: null });
  if (tree) await texts.show(texts.address('syntax-tree.txt', uri), tree);
}

async function showStatus(server) {
  const status = await server.request('hx/serverStatus', undefined);
  if (!status) return;
  const items = Object.entries(status).map(([label, value]) => ({
    label,
    description: Array.isArray(value) ? value.join(', ') : String(value),
  }));
  const extra = [{ label: '$(refresh) Restart', run: 'hx.restart' }, { label: '$(output) Show Log', run: 'hx.showLog' }];
  const chosen = await vscode.window.showQuickPick([...items, ...extra], { placeHolder: 'The hx server' });
  if (chosen?.run) vscode.commands.executeCommand(chosen.run);
}

module.exports = { parseArguments, registerCommands };
