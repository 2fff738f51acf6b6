/** How many frames are counted for one measurement; a second, on most screens. */
const frames = 60;

/** Counts frames once, as long as the page is visible all the time. */
export function measureFPS(done: (fps: number) => void): void {
  let count = 0;
  let begin = 0;
  const next = (now: number): void => {
    if (document.visibilityState !== "visible") return;
    if (count === 0) begin = now;
    if (count++ < frames) requestAnimationFrame(next);
    else if (now > begin) done(Math.round((frames * 1000) / (now - begin)));
  };
  requestAnimationFrame(next);
}
