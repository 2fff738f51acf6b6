// Addresses of pages as they are sent.
import { flag, list } from "./context.ts";
import { mask } from "./pattern.ts";
import { handoverParameters } from "./visitor.ts";

const maxLength = 2048;

/**
 * The address without what must not be stored: ids of visitors, what the owner masks
 * and, unless it names the page, the part behind "#".
 */
export function clean(address: string): string {
  const url = new URL(address);
  if (!flag("trackHashChanges")) url.hash = "";
  for (const name of handoverParameters) {
    // A query is written anew when it is changed, so only then.
    if (url.searchParams.has(name)) url.searchParams.delete(name);
  }
  if (url.host === location.host) url.pathname = mask(list("maskPatterns"), url.pathname);
  if (url.href.length > maxLength) url.search = url.hash = "";
  return url.href.slice(0, maxLength);
}

/** What tells one page of a site from the next. */
export function route(withQuery: boolean): string {
  return location.pathname + (withQuery ? location.search : "") + (flag("trackHashChanges") ? location.hash : "");
}
