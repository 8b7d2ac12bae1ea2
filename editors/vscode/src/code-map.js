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

/** What the document with a stage is called. */
const fileName = ({ kernel, stage, language }) => `${kernel}.${EXTENSIONS[language] ?? `${stage}.txt`}`;

module.exports = { LANGUAGES, fileName, partners };
