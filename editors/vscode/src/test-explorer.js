// Tests in the test explorer: found by `hx test --list`, run by `hx test`, each case by itself.

const path = require('node:path');
const { spawn } = require('node:child_process');
const vscode = require('vscode');
const { configurationOf } = require('./debug-config');
const { Lines, explanation, failure, jsonLines, parseLine, runArguments, splitName, tree } = require('./tests');
const { configuration } = require('./server');

class Tests {
  #server;
  #controller = vscode.tests.createTestController('hx', 'hx');
  /** @type {WeakMap<vscode.TestItem, {name: string}>} the names of what can be run by itself */
  #names = new WeakMap();
  #disposables;

  constructor(server) {
    this.#server = server;
    this.#controller.refreshHandler = () => this.discover();
    const { Run, Debug } = vscode.TestRunProfileKind;
    const profile = (label, kind, run, { isDefault, continuous }) =>
      this.#controller.createRunProfile(label, kind, run, isDefault, undefined, continuous);
    const run = (request, token) => (request.continuous ? this.#watch(request, token) : this.#run(request, token, false));
    const watcher = vscode.workspace.createFileSystemWatcher('**/*.hx');
    this.#disposables = [
      profile('Run', Run, run, { isDefault: true, continuous: true }),
      profile('Run in the simulator, with all output', Run, (request, token) => this.#run(request, token, true), {}),
      profile('Step through', Debug, (request, token) => this.#step(request, token), { isDefault: true }),
      vscode.workspace.onDidSaveTextDocument((document) => {
        if (document.languageId === 'hx') this.#list(document.uri);
      }),
      watcher.onDidCreate((uri) => this.#list(uri)),
      watcher.onDidDelete((uri) => this.#controller.items.delete(String(uri))),
      watcher,
      this.#controller,
    ];
  }

  /** Lists the tests of every file of the workspace. */
  async discover() {
    const files = await vscode.workspace.findFiles('**/*.hx', '**/{target,node_modules}/**');
    const found = new Set(files.map(String));
    this.#controller.items.forEach((item) => {
      if (!found.has(item.id)) this.#controller.items.delete(item.id);
    });
    for (const folder of vscode.workspace.workspaceFolders ?? []) {
      const own = files.filter((uri) => vscode.workspace.getWorkspaceFolder(uri) === folder);
      if (own.length > 0) await this.#listFiles(own, folder.uri.fsPath);
    }
  }

  async #list(uri) {
    if (uri.scheme !== 'file') return;
    const folder = vscode.workspace.getWorkspaceFolder(uri);
    await this.#listFiles([uri], folder?.uri.fsPath ?? path.dirname(uri.fsPath));
  }

  async #listFiles(uris, folder) {
    const program = await this.#server.program();
    if (!program) return;
    const args = ['test', ...uris.map((uri) => path.relative(folder, uri.fsPath)), '--list', '--format', 'json'];
    const { stdout } = await this.#output(program, args, folder);
    const listed = new Map(tree(jsonLines(stdout)).map((file) => [path.resolve(folder, file.file), file]));
    for (const uri of uris) {
      const file = listed.get(uri.fsPath);
      if (file) this.#show(uri, file, folder);
      else this.#controller.items.delete(String(uri));
    }
  }

  #output(program, args, cwd) {
    return new Promise((resolve) => {
      const child = spawn(program, args, { cwd, env: this.#server.environment });
      let stdout = '';
      child.stdout.on('data', (chunk) => (stdout += chunk));
      child.on('error', () => resolve({ stdout: '' }));
      child.on('close', () => resolve({ stdout }));
    });
  }

  #show(uri, file, folder) {
    const item = this.#controller.createTestItem(String(uri), path.relative(folder, uri.fsPath), uri);
    for (const test of file.tests) {
      const range = new vscode.Range(test.line - 1, test.column - 1, test.line - 1, test.column - 1);
      const node = this.#controller.createTestItem(`${uri}::${test.title}`, test.title, uri);
      node.range = range;
      if (test.broken) node.error = 'This test has errors.';
      if (test.name) this.#names.set(node, { name: test.name });
      test.cases.forEach(({ label, name }, at) => {
        const leaf = this.#controller.createTestItem(`${uri}::${test.title}::${label}`, label, uri);
        leaf.range = range;
        leaf.sortText = String(at).padStart(6, '0');
        this.#names.set(leaf, { name });
        node.children.add(leaf);
      });
      item.children.add(node);
    }
    this.#controller.items.add(item);
  }

  /** Runs the test of that title, as a lens asks for it. */
  async runNamed({ uri, name }) {
    const find = () => this.#controller.items.get(uri)?.children.get(`${uri}::${name}`);
    if (!find()) await this.#list(vscode.Uri.parse(uri));
    const item = find();
    if (!item) {
      vscode.window.showErrorMessage(`hx: there is no test “${name}”.`);
      return;
    }
    const request = new vscode.TestRunRequest([item]);
    await this.#run(request, new vscode.CancellationTokenSource().token, false);
    vscode.commands.executeCommand('testing.showMostRecentOutput').then(undefined, () => {});
  }

  /**
   * The tests and cases of a file that can be run by themselves, as they are on disk after a save.
   * @returns {Promise<{title: string, label: string, name: string, line: number}[]>}
   */
  async cases(uri) {
    await saved(String(uri));
    await this.#list(uri);
    const file = this.#controller.items.get(String(uri));
    const leaves = file ? this.#leaves(file, new Set()) : [];
    return leaves.map((leaf) => {
      const { name } = this.#names.get(leaf);
      const { title, case: label } = splitName(name);
      return { title, label: label ?? '', name, line: leaf.range.start.line };
    });
  }

  /** What of an item can be run by itself. */
  #leaves(item, excluded) {
    if (excluded.has(item)) return [];
    const own = this.#names.has(item) ? [item] : [];
    const below = [];
    item.children.forEach((child) => below.push(...this.#leaves(child, excluded)));
    return [...own, ...below];
  }

  /** Returns the items that a request asks to run, each once. */
  #requested(request) {
    const excluded = new Set(request.exclude ?? []);
    const chosen = [...(request.include ?? [])];
    if (!request.include) this.#controller.items.forEach((item) => chosen.push(item));
    return new Set(chosen.flatMap((item) => this.#leaves(item, excluded)));
  }

  /** Steps through a test. Of several tests, the first one that fails in the simulator. */
  async #step(request, token) {
    const leaves = [...this.#requested(request)];
    const failed = leaves.length > 1 ? await this.#run(request, token, true) : leaves;
    if (token.isCancellationRequested) return;
    const [first] = leaves.filter((leaf) => failed.includes(leaf));
    if (!first) {
      vscode.window.showInformationMessage('hx: no test fails in the simulator. Choose a single test to step through it.');
      return;
    }
    await saved(String(first.uri));
    const folder = vscode.workspace.getWorkspaceFolder(first.uri);
    await vscode.debug.startDebugging(folder, configurationOf({ program: first.uri.fsPath, test: this.#names.get(first).name }));
  }

  /** Runs what is requested, and returns the items that failed. */
  async #run(request, token, debug) {
    const program = await this.#server.program();
    if (!program) return [];
    const leaves = this.#requested(request);
    await Promise.all(
      [...new Set([...leaves].map((it) => String(it.uri)))].map((uri) => saved(uri)),
    );
    const run = this.#controller.createTestRun(request);
    for (const leaf of leaves) run.enqueued(leaf);
    const folders = new Map();
    for (const leaf of leaves) {
      const folder =
        vscode.workspace.getWorkspaceFolder(leaf.uri)?.uri.fsPath ?? path.dirname(leaf.uri.fsPath);
      folders.set(folder, [...(folders.get(folder) ?? []), leaf]);
    }
    const failed = [];
    for (const [folder, items] of folders) await this.#runFolder({ program, folder, items, run, token, debug, failed });
    run.end();
    return failed;
  }

  /** Runs the tests now and whenever a file changes, until the token is cancelled. Each round of results is a run of its own. */
  async #watch(request, token) {
    const program = await this.#server.program();
    if (!program) return;
    const folders = new Map();
    for (const leaf of this.#requested(request)) {
      const folder = vscode.workspace.getWorkspaceFolder(leaf.uri)?.uri.fsPath ?? path.dirname(leaf.uri.fsPath);
      folders.set(folder, [...(folders.get(folder) ?? []), leaf]);
    }
    for (const [folder, items] of folders) this.#watchFolder({ program, folder, items, request, token });
  }

  #watchFolder({ program, folder, items, request, token }) {
    const known = new Map(items.map((item) => [this.#names.get(item).name, item]));
    const files = [...new Set(items.map((item) => path.relative(folder, item.uri.fsPath)))];
    const device = configuration().get('test.device') ?? 'auto';
    const args = runArguments({ files, names: [...known.keys()], device, debug: false, watch: true });
    const child = spawn(program, args, { cwd: folder, env: this.#server.environment });
    token.onCancellationRequested(() => child.kill('SIGINT'));
    const lines = new Lines();
    let run = null;
    const take = (line) => {
      const result = parseLine(line);
      if (result?.type === 'test') {
        run ??= this.#controller.createTestRun(request);
        this.#ended({ result, waiting: new Map(known), folder, run });
      } else if (result?.type === 'summary') {
        run?.end();
        run = null;
      }
    };
    child.stdout.setEncoding('utf8').on('data', (chunk) => lines.push(chunk).forEach(take));
    child.on('error', (error) => vscode.window.showErrorMessage(`hx: ${error}`));
    child.on('close', () => run?.end());
  }

  #runFolder({ program, folder, items, run, token, debug, failed }) {
    const waiting = new Map(items.map((item) => [this.#names.get(item).name, item]));
    const files = [...new Set(items.map((item) => path.relative(folder, item.uri.fsPath)))];
    const device = configuration().get('test.device') ?? 'auto';
    const args = runArguments({ files, names: [...waiting.keys()], device, debug });
    return new Promise((resolve) => {
      const child = spawn(program, args, { cwd: folder, env: this.#server.environment });
      token.onCancellationRequested(() => child.kill('SIGINT'));
      const lines = new Lines();
      let errors = '';
      const take = (line) => {
        const result = parseLine(line);
        if (result?.type === 'test') this.#ended({ result, waiting, folder, run, failed });
      };
      child.stdout.setEncoding('utf8').on('data', (chunk) => lines.push(chunk).forEach(take));
      child.stderr.setEncoding('utf8').on('data', (chunk) => {
        errors += chunk;
        run.appendOutput(chunk.replace(/\r?\n/g, '\r\n'));
      });
      child.on('error', (error) => (errors += String(error)));
      child.on('close', () => {
        lines.end().forEach(take);
        for (const item of waiting.values()) {
          if (token.isCancellationRequested) run.skipped(item);
          else run.errored(item, new vscode.TestMessage(errors.trim() || 'The run ended before this test.'));
        }
        resolve();
      });
    });
  }

  #ended({ result, waiting, folder, run, failed = [] }) {
    const item = waiting.get(result.name);
    if (!item) return;
    waiting.delete(result.name);
    const milliseconds = Math.round((result.seconds ?? 0) * 1000);
    for (const line of result.output ?? []) run.appendOutput(`${line}\r\n`, undefined, item);
    if (result.result === 'passed') {
      run.passed(item, milliseconds);
    } else if (result.result === 'skipped') {
      run.appendOutput(`${result.name}: ${result.reason}\r\n`, undefined, item);
      run.skipped(item);
    } else {
      for (const diagnostic of result.diagnostics ?? []) {
        if (diagnostic.rendered) run.appendOutput(diagnostic.rendered.replace(/\r?\n/g, '\r\n'), undefined, item);
      }
      if (result.rerun) run.appendOutput(`rerun: ${result.rerun}\r\n`, undefined, item);
      failed.push(item);
      run.failed(item, messages(result, folder), milliseconds);
    }
  }

  dispose() {
    for (const it of this.#disposables) it.dispose();
  }
}

/** What the explorer says of a failed test: at the assertion why it failed, and at each line of the kernel what it did. */
function messages(result, folder) {
  const found = (result.diagnostics ?? []).map(failure);
  if (found.length === 0) return [new vscode.TestMessage(result.reason ?? 'failed')];
  const uri = (place) => vscode.Uri.file(path.resolve(folder, place.path));
  const at = (message, place) => {
    if (place) {
      const { start, end } = place;
      const range = new vscode.Range(start.line, start.character, end.line, end.character);
      message.location = new vscode.Location(uri(place), range);
    }
    return message;
  };
  return found.flatMap((it) => {
    if (!result.picture) {
      const { text, comparison } = it;
      const message = comparison
        ? vscode.TestMessage.diff(text, comparison.expected, comparison.actual)
        : new vscode.TestMessage(text);
      return [at(message, it.place)];
    }
    const link = (place) => uri(place).with({ fragment: `L${place.start.line + 1}` }).toString();
    const whole = new vscode.TestMessage(new vscode.MarkdownString(explanation(it, result.picture, link)));
    return [at(whole, it.place), ...it.others.map((other) => at(new vscode.TestMessage(other.label), other))];
  });
}

/** `hx test` reads files, so what is typed is written first. */
async function saved(uri) {
  const document = vscode.workspace.textDocuments.find((it) => String(it.uri) === uri);
  if (document?.isDirty) await document.save();
}

module.exports = { Tests };
