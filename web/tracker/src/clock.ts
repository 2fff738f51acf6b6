// A clock that runs for as long as something happens every now and then.

export interface Clock {
  /** Says that something happens now. */
  poke: (now: number) => void;
  /** Stops until the next poke, and returns what was counted since the last stop. */
  stop: (now: number) => number;
}

/**
 * Returns a clock that counts milliseconds from one poke to the next, and for at most
 * `patience` after each: a page that is left alone, and a computer that sleeps, do not
 * count on.
 */
export function newClock(patience: number): Clock {
  let total = 0;
  let until = 0;
  return {
    poke(now) {
      total += now + patience - Math.max(until, now);
      until = now + patience;
    },
    stop(now) {
      const counted = total - Math.max(until - now, 0);
      total = until = 0;
      return counted;
    },
  };
}
