// Events of the page's own making.
import { collect, properties } from "./event.ts";
import { clientId } from "./context.ts";

/** Sends an event. Whether its name and its properties are within the limits is for the server to say. */
export function custom(name: unknown, own?: unknown): void {
  if (typeof name !== "string" || !name) return;
  collect("track", {
    name,
    properties: properties(own),
    websiteId: clientId,
    source: "browser",
  });
}
