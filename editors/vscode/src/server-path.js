// Where the toolchain is. The editor Helix has a program of the same name, so what PATH finds is asked who it is.
// Knows nothing of the editor.

const path = require('node:path');

const IDENTITY = 'hx kernel language toolchain';

/** `~` and `${workspaceFolder}` replaced. */
function expand(setting, { home, workspaceFolder }) {
  let text = setting.trim();
  if (text === '~' || text.startsWith('~/') || text.startsWith('~\\')) text = home + text.slice(1);
  if (workspaceFolder) text = text.replaceAll('${workspaceFolder}', workspaceFolder);
  return text;
}

/**
 * The programs that may be ours, in order: those of the active Python environments, which the wheel installs, then those on PATH.
 *
 * An environment is a folder, or the path of its interpreter.
 */
function candidates({ environments = [], searchPath, platform, exists }) {
  const [separator, suffix] = platform === 'win32' ? [';', '.exe'] : [':', ''];
  const { isAbsolute, join, dirname, basename } = platform === 'win32' ? path.win32 : path.posix;
  const scripts = platform === 'win32' ? 'Scripts' : 'bin';
  const programs = (at) => (/^python[0-9.]*(\.exe)?$/.test(basename(at)) ? dirname(at) : join(at, scripts));
  // A relative entry of PATH, or an empty one, means a folder of the project at hand.
  const folders = [...environments.filter(isAbsolute).map(programs), ...searchPath.split(separator).filter(isAbsolute)];
  return [...new Set(folders)].flatMap((folder) => ['hx', 'hxk'].map((name) => join(folder, name + suffix))).filter(exists);
}

/**
 * The toolchain and what it says of itself, or why there is none.
 *
 * `ask` gives what a program prints for `--version`, or null.
 * @returns {Promise<{path: string, version: string} | {problem: string}>}
 */
async function findServer({ setting, home, workspaceFolder, environments, searchPath, platform, exists, ask }) {
  if (setting.trim() !== '') {
    const path = expand(setting, { home, workspaceFolder });
    const version = await ask(path);
    if (version === null) return { problem: `\`${path}\` (hx.server.path) cannot be run` };
    if (!version.includes(IDENTITY)) return { problem: `\`${path}\` (hx.server.path) is another program: ${version.trim()}` };
    return { path, version: version.trim() };
  }
  const others = [];
  for (const path of candidates({ environments, searchPath, platform, exists })) {
    const version = await ask(path);
    if (version !== null && version.includes(IDENTITY)) return { path, version: version.trim() };
    others.push(path);
  }
  const note = others.length > 0 ? ` (${others.join(', ')}: another program)` : '';
  return { problem: `the hx toolchain was not found in the active Python environment or on PATH${note}` };
}

module.exports = { IDENTITY, candidates, expand, findServer };
