// Package ingest is the accept path of the edge: what happens to the events of a
// request between the HTTP surface and Kafka. Ways in differ by the rows of Route;
// the steps are the same for all.
//
// # The order of checks
//
// The steps are those of httpkit.Checks on this host, under the same names. The surface
// reads the body first, so its own responses come before these: 413 for a body over the
// limit, 400 for one that cannot be decompressed. Then, each step only when the ones
// before it found nothing:
//
//  1. Credentials. A key decides alone: a malformed, unknown, expired, revoked or
//     rotated one is 401 even where a good client id stands beside it. Without a
//     key the client id is the query's; else, on routes that say so, the first
//     event's websiteId, read before the body is validated; else a header's.
//     None of them: 401. A key that cannot be looked up: 503 SERVICE_UNAVAILABLE.
//     A key that is not good is counted by the address: 429 from the limit on.
//  2. Room. A request for whose work there is no memory, whose caller holds more of
//     it than the others have left, or before which others wait too long: 503
//     SERVICE_UNAVAILABLE. It is not counted against the caller's limits.
//  3. Limits. A key, or an address for one website, has its requests counted, on
//     each route apart: 429. Client ids that are no website's are counted by the
//     address alone, and no more of them are looked up than that allows.
//  4. Decode. Every event is decoded and validated; one bad event rejects the
//     request with a list of all problems: 400, or 413 where only properties are
//     too large. On routes whose events stand for themselves it keeps no other out,
//     and only a body that is no array is 400.
//  5. Access. A key needs track:events (403 FORBIDDEN). An event's target is its
//     websiteId, else the query's website, else the website that the key is
//     limited to, else, for a key to all websites, the organization, or on a route
//     that is only for websites 400. A target must exist and belong to the key's
//     organization (404) and be covered by the key (403 ACCESS_DENIED). Without a
//     key, the client id must be a website's (404) that has an organization (400
//     WEBSITE_MISSING_ORGANIZATION) and takes events from the page's origin (403
//     ORIGIN_NOT_AUTHORIZED) and from the address (403 IP_NOT_AUTHORIZED), and an
//     event may name no other website (403 ACCESS_DENIED).
//  6. Quota. An organization whose month is used up is 402 QUOTA_EXCEEDED, and one
//     that an external service decides about and has not is 503
//     BILLING_UNAVAILABLE.
//  7. Screen, of client ids only: what bots send, unless the website keeps it,
//     what comes from addresses that the website excludes, and what visitors ask
//     not to be counted by signals that it honours, is left out in silence. The
//     agent and the address tell of the visitor; neither goes further.
//  8. Records. Each event becomes one record, with what is known besides, unless
//     the website excludes its path. A website's event with one name too many of that
//     day has the name that such events share, its own beside it. Paths are stored masked. Visitor ids are
//     hashed with the salt of the UTC day of receipt unless event or website say
//     otherwise; a salt that is not known and cannot be read is 503
//     SERVICE_UNAVAILABLE.
//  9. Publish. All records are sent, and every acknowledgement is waited for:
//     503 DELIVERY_UNAVAILABLE unless all arrive in time.
//
// Nothing is published before step 9, so every rejection is of the whole request,
// except for the single events of a route that answers for each.
//
// # Files
//
// Import takes the same steps for events of a file, under a key, into the backfill
// topic. There each event stands for itself: one that step 4, the target in step
// 5 or the path in step 8 rejects does not keep the others out. It is limited
// neither in size nor in rate, for its caller reads one bounded run of events after
// another.
//
// # What is promised
//
// A nil error means that every event that is not left out is stored by all in-sync
// replicas. After DELIVERY_UNAVAILABLE some events may be stored; the caller sends
// them again with the same eventId. A duplicate is accepted and counted like any
// event: the sink removes it. The body is not needed after Accept returns.
package ingest
