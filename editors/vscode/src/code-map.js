// Which lines of emitted code belong to which lines of the source. Knows nothing of the editor.

/** The lines of one side that belong to `line` of the other, as ranges `[first, last]` in order. */
function partners(lines, from, line) {
  const to = from === 'source' ? 'emitted' : 'source';
  const found = [...new Set(lines.filter((pair) => pair[from] === line).map((pair) => pair[to]))];
  found.sort((a, b) => a - b);
  const ranges = [];
  for (const at of found) {
    const last = ranges.at(-1);
    if (last && last[1] + 1 === at) last[1] = at;
    else ranges.push([at, at]);
  }
  return ranges;
}

/** For each language of the server: how a file of it ends, and what the editor calls it. */
const EXTENSIONS = { 'cuda-cpp': 'cu', ptx: 'ptx', sass: 'sass' };
const LANGUAGES = { 'cuda-cpp': 'cuda-cpp', ptx: 'hx-ptx', sass: 'hx-sass', hx: 'plaintext' };

/** The name of the document with a stage. Arguments that were asked for are in it, so that two instances are two documents. */
function fileName({ kernel, stage, language, args }) {
  const chosen = Object.entries(args ?? {}).map(([name, value]) => `${name}=${value}`);
  // A slash would be a folder.
  const name = [kernel, ...chosen].join(' ').replaceAll('/', '∕');
  return `${name}.${EXTENSIONS[language] ?? `${stage}.txt`}`;
}

module.exports = { LANGUAGES, fileName, partners };
