// The browser tracker. It begins when it is loaded, unless the page is not shown to
// anybody yet.
import { install, isTaken } from "./api.ts";
import { startClicks } from "./clicks.ts";
import { collecting, disabled } from "./context.ts";
import { startErrors } from "./errors.ts";
import { startExtra } from "./extra.ts";
import { guard, listen } from "./guard.ts";
import { startPages } from "./page.ts";
import { startQueue } from "./queue.ts";
import { readAddress } from "./visitor.ts";

function start(): void {
  if (!disabled) {
    if (collecting()) readAddress();
    startErrors();
    startQueue();
    startPages();
    startClicks();
    startExtra();
  }
  install();
}

/** A page that the browser prepares in case it is asked for. */
const prepared = (document as { prerendering?: boolean }).prerendering;

if (!isTaken() && location.protocol.startsWith("http")) {
  if (prepared) listen(document, "prerenderingchange", start);
  else guard(start)();
}
