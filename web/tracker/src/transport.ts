// One request, and what its answer means for the events in it.

export interface Outcome {
  /** To be tried again, after this many milliseconds where the server says so. */
  again?: boolean;
  wait?: number | undefined;
  /** Refused for what one of several events is: each half may be fine. */
  divisible?: boolean;
}

/**
 * How many bytes may be under way that are to outlive the page; browsers refuse more
 * than 64 KiB of all requests together.
 */
export const keepaliveBytes = 60000;

let outliving = 0;

export function sizeOf(text: string): number {
  return new Blob([text]).size;
}

/** Whether a body of this size would outlive the page if it were posted now. */
export function outlives(size: number): boolean {
  return "keepalive" in Request.prototype && outliving + size <= keepaliveBytes;
}

/**
 * Posts a body. It is sent as plain text, so that the browser need not ask the server
 * first whether it may; and by fetch even while the page is left, because a beacon
 * tells nobody whether it arrived, and does not name its origin on pages with a strict
 * referrer policy. A size of the body other than zero has it outlive the page.
 */
export async function post(url: string, body: string, size: number): Promise<Outcome> {
  outliving += size;
  try {
    const { status, headers } = await fetch(url, { method: "POST", body, keepalive: size > 0, credentials: "omit" });
    return {
      again: status > 499 || [408, 425, 429].includes(status),
      wait: parseRetryAfter(headers.get("Retry-After")),
      divisible: status === 400 || status === 413,
    };
  } catch {
    return { again: true };
  } finally {
    outliving -= size;
  }
}

/** Milliseconds of a Retry-After in seconds, at most an hour; undefined for a date, which no ingestion host sends. */
export function parseRetryAfter(text: string | null): number | undefined {
  return Math.min(parseInt(text ?? "") * 1000, 3600000) || undefined;
}

/**
 * Milliseconds before the n-th attempt after the first: doubled with each, up to a
 * minute, which it is beyond the `quick` ones; less up to half of it by chance, so
 * that the pages that failed together do not come back together.
 */
export function backoff(initial: number, n: number, quick: number): number {
  return (n > quick ? 60000 : Math.min(initial * 2 ** (n - 1), 60000)) * (1 - Math.random() / 2);
}
