// Formats the device, the target and the compile-time arguments that a status bar shows. Knows nothing of the editor.

/** The longest list of arguments that the status bar shows, in characters. */
const LONGEST = 40;

/** `BM=128 T=bf16` */
const argumentsText = (args) => Object.entries(args ?? {}).map(([name, value]) => `${name}=${value}`).join(' ');

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

/** The kernel of the answer to hx/costs that is at a line, or above it; the first one for a line before all. */
function kernelAt(kernels, line) {
  const above = kernels.filter((it) => it.range.start.line <= line);
  return above.at(-1) ?? kernels[0] ?? null;
}

/** The text of the status bar. `kernel` is an entry of the answer to hx/costs, or null. */
function statusText({ device, target, kernel }) {
  const args = argumentsText(kernel?.args);
  const short = args.length > LONGEST ? `${args.slice(0, LONGEST - 1)}…` : args;
  const parts = [device, target, kernel && `${kernel.kernel} ${short}`.trim()];
  return `$(circuit-board) ${parts.filter((part) => part).join(' · ')}`;
}

/** Its tooltip, in Markdown. */
function statusDetail({ device, target, kernel }) {
  const lines = [`**Device** of tests: \`${device}\``, `**Target** of layouts: \`${target}\``];
  if (kernel) {
    lines.push(`**Shown instance** of \`${kernel.kernel}\`: \`${argumentsText(kernel.args) || 'no compile-time parameters'}\``);
    lines.push(`${kernel.threads} threads · ${kernel.summary}`);
  }
  return [...lines, 'Click to choose.'].join('\n\n');
}

module.exports = { argumentsText, kernelAt, parseArguments, statusDetail, statusText };
