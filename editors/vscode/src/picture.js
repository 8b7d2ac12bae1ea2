// Draws which elements of a tensor are wrong, from the picture in a test's result, as an image for Markdown.

/** The colour of each character of a picture; colours that are legible in light and in dark themes. */
const COLOURS = { '·': '#8886', '█': '#e5534b', '▒': '#e5534b99', '○': '#c69026' };
/** The width and height of a character's box, in pixels. */
const BOX = { width: 8, height: 8 };

/** The SVG of a picture. Neighbours of one colour in a line are one rectangle. */
function svg({ lines }) {
  const width = Math.max(...lines.map((line) => [...line].length)) * BOX.width;
  const height = lines.length * BOX.height;
  const rectangles = lines.flatMap((line, row) => runs([...line]).map((run) => rectangle(run, row)));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${rectangles.join('')}</svg>`;
}

/** The runs of equal characters in a line. */
function runs(characters) {
  const out = [];
  characters.forEach((character, at) => {
    const last = out.at(-1);
    if (last?.character === character) last.count += 1;
    else out.push({ character, at, count: 1 });
  });
  return out;
}

function rectangle({ character, at, count }, row) {
  const place = `x="${at * BOX.width}" y="${row * BOX.height}"`;
  const size = `width="${count * BOX.width}" height="${BOX.height}"`;
  return `<rect ${place} ${size} fill="${COLOURS[character] ?? COLOURS['·']}"/>`;
}

/** The meaning of the boxes of a picture and of their colours. */
function legend(picture) {
  const [rows, columns] = picture.scale;
  const used = (character) => picture.lines.some((line) => line.includes(character));
  const meanings = [
    ['·', 'grey: right'],
    ['█', 'red: wrong'],
    ['▒', 'pale red: partly wrong'],
    ['○', 'yellow: unwritten memory'],
  ];
  const colours = meanings.filter(([character]) => used(character)).map(([, meaning]) => meaning);
  const scale = rows * columns === 1 ? 'each box is an element' : `each box is ${rows} × ${columns} elements`;
  return `${scale}; ${colours.join(', ')}`;
}

/** The picture as an image in Markdown, with the meaning of its colours. */
function image(picture) {
  const data = Buffer.from(svg(picture)).toString('base64');
  return `![the wrong elements](data:image/svg+xml;base64,${data})\n\n${legend(picture)}`;
}

module.exports = { image, legend, svg };
