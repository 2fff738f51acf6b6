// Errors that nobody caught. Each is sent once, and a page sends so many at most; what
// extensions of the browser and scripts of other origins do is not the page's error.
import { flag, list } from "./context.ts";
import { collect } from "./event.ts";
import { listen } from "./guard.ts";
import { maskText } from "./pattern.ts";

const maxErrors = 50;
const maxMessage = 2048;
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
  known.add(key);
  collect("error", {
    message: message.slice(0, maxMessage),
    errorType: name,
    filename: maskText(list("maskPatterns"), filename).slice(0, maxMessage),
    lineno,
    colno,
    stack: maskText(list("maskPatterns"), stack).slice(0, maxStack),
  });
}

/** A text for whatever was thrown. */
function describe(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  // eslint-disable-next-line @typescript-eslint/no-base-to-string -- an object is the other case
  return typeof thrown === "object" ? JSON.stringify(thrown) : String(thrown);
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
