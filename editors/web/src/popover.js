// A box beside an element that explains it: a hint, or the costs above a kernel. Opens under the pointer, or by a tap.

const DELAY_MS = 120;
/** The time in which the pointer may go from the element to the box. */
const LEAVE_MS = 200;
const GAP = 4;

let open = null;
let timer = 0;

const place = (box, anchor) => {
  const [at, size] = [anchor.getBoundingClientRect(), box.getBoundingClientRect()];
  const below = at.bottom + GAP + size.height <= innerHeight || at.top < size.height;
  box.style.left = `${Math.max(GAP, Math.min(at.left, innerWidth - size.width - GAP))}px`;
  box.style.top = `${below ? at.bottom + GAP : at.top - size.height - GAP}px`;
};

function close() {
  clearTimeout(timer);
  open?.box.remove();
  open = null;
}

const leave = () => {
  clearTimeout(timer);
  timer = setTimeout(close, LEAVE_MS);
};

async function show(anchor, content) {
  close();
  const box = document.createElement('div');
  box.className = 'popover markdown';
  box.setAttribute('role', 'tooltip');
  const mine = (open = { anchor, box });
  const html = await content();
  if (open !== mine || !html || !anchor.isConnected) return;
  box.innerHTML = html;
  box.addEventListener('pointerenter', () => clearTimeout(timer));
  box.addEventListener('pointerleave', leave);
  document.body.append(box);
  place(box, anchor);
  // An image has its size after it was read.
  for (const image of box.querySelectorAll('img')) image.addEventListener('load', () => place(box, anchor));
}

/**
 * Shows `content`, a function that promises HTML, while the pointer is on the element. A click does `act`; a finger, which cannot
 * point, shows the content by its tap.
 */
export function describe(anchor, content, act = () => {}) {
  let pointer = 'mouse';
  anchor.addEventListener('pointerenter', ({ pointerType }) => {
    if (pointerType !== 'mouse') return;
    clearTimeout(timer);
    timer = setTimeout(() => show(anchor, content), DELAY_MS);
  });
  anchor.addEventListener('pointerleave', ({ pointerType }) => pointerType === 'mouse' && leave());
  anchor.addEventListener('pointerdown', ({ pointerType }) => (pointer = pointerType));
  anchor.addEventListener('click', () => {
    if (pointer === 'mouse') act();
    else if (open?.anchor === anchor) close();
    else show(anchor, content);
  });
}

addEventListener('keydown', ({ key }) => key === 'Escape' && close());
addEventListener('pointerdown', ({ target }) => open && !open.box.contains(target) && !open.anchor.contains(target) && close());
addEventListener('scroll', ({ target }) => open && !open.box.contains(target) && close(), true);
