// The line between the editor and the panel: dragged, or moved with the arrow keys.

const [LEAST, MOST, STEP] = [25, 80, 2];

export function movable(divider) {
  const { style } = document.documentElement;
  let share = 58;
  const set = (value) => {
    share = Math.min(MOST, Math.max(LEAST, value));
    style.setProperty('--editor-width', `${share}%`);
    divider.setAttribute('aria-valuenow', Math.round(share));
  };
  divider.addEventListener('pointerdown', (event) => {
    divider.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  divider.addEventListener('pointermove', ({ pointerId, clientX }) => {
    if (divider.hasPointerCapture(pointerId)) set((clientX / innerWidth) * 100);
  });
  divider.addEventListener('keydown', ({ key }) => {
    const by = { ArrowLeft: -STEP, ArrowRight: STEP }[key];
    if (by) set(share + by);
  });
}
