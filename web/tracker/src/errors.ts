// Errors that nobody caught. Each is sent once, and a page sends so many at most; what
// extensions of the browser and scripts of other origins do is not the page's error.
import { flag, list } from "./context.ts";
import { collect, maxText } from "./event.ts";
import { guard, listen } from "./guard.ts";
import { maskText } from "./pattern.ts";

const maxErrors = 50;
const maxStack = 8192;

const noise = /^(Script error\.?$|ResizeObserver loop )/;
const foreign = /\b[\w-]+-extension:\/\//;

const known = new Set<string>();

interface Place {
  filename?: string;
  lineno?: number;
  colno?: number;
}

function report(thrown: unknown, message: string, type: string, { filename = "", lineno, colno }: Place): void {
  const { name = type, stack = "" } = thrown instanceof Error ? thrown : {};
  const key = [message, filename, lineno, colno].join();
  // Images and scripts that did not load say so without a message.
  if (!message || noise.test(message) || foreign.test(filename) || foreign.test(stack)) return;
  if (known.has(key) || known.size >= maxErrors) return;
  const sent = collect("errors", {
    message: message.slice(0, maxText),
    errorType: name,
    filename: maskText(list("maskPatterns"), filename).slice(0, maxText),
    lineno,
    colno,
    stack: maskText(list("maskPatterns"), stack).slice(0, maxStack),
  });
  if (sent) known.add(key);
}

/** A text for whatever was thrown. */
function describe(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  // eslint-disable-next-line @typescript-eslint/no-base-to-string -- of an object only where JSON has no text for it
  return (typeof thrown === "object" ? guard(JSON.stringify)(thrown) : null) ?? String(thrown);
}

export function startErrors(): void {
  if (!flag("trackErrors")) return;
  listen<ErrorEvent>(window, "error", (e) => {
    report(e.error, e.message, "Error", e);
  });
  listen<PromiseRejectionEvent>(window, "unhandledrejection", (e) => {
    report(e.reason, describe(e.reason), "UnhandledRejection", {});
  });
}
