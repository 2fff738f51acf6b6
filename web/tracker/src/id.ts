// Ids are random: nothing of the browser or the visitor can be read from one.

/** A UUID of version 4, also on pages without HTTPS, which lack randomUUID. */
export function uuid(): string {
  return "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (digit) =>
    // An array of one number counts as the number.
    (+digit ^ ((crypto.getRandomValues(new Uint8Array(1)) as unknown as number) & (15 >> (+digit / 4)))).toString(16),
  );
}

/** Whether text is a UUID behind a prefix, as uuid writes it; its dashes may be between other fours of digits. */
export function isID(prefix: string, text: string): boolean {
  return new RegExp(`^${prefix}_(-?[\\da-f]{4}){8}$`).test(text);
}

/** A number from 0 up to, but not including, 1 that is always the same for an id. */
export function fraction(id: string): number {
  return parseInt(id.slice(-8), 16) / 2 ** 32;
}
