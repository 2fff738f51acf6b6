// Nothing of the tracker may be felt by the page that carries it: every entry, be it a
// listener, a timer or a call, goes through guard.

let logging = false;

/** Whether what is done, and what goes wrong, is written to the console. */
export function setDebug(on: boolean): void {
  logging = on;
}

export function debug(...what: unknown[]): void {
  // eslint-disable-next-line no-console -- asked for by the page's owner
  if (logging) console.debug("millrace", ...what);
}

/** Returns fn without its exceptions; one that fails returns undefined. */
export function guard<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R | undefined {
  return (...args) => {
    try {
      return fn(...args);
    } catch (error) {
      debug(error);
      return undefined;
    }
  };
}

/** Listens to events of these types before anybody of the page can stop them; or, if not `first`, after all others. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the caller knows what its types bring
export function listen<E extends Event>(
  target: EventTarget,
  types: string,
  fn: (event: E) => void,
  first = true,
): void {
  for (const type of types.split(" ")) {
    target.addEventListener(type, guard(fn) as EventListener, { capture: first, passive: true });
  }
}
