// Package ingest is the accept path of the edge: what happens to a body of
// POST /track between the HTTP surface and Kafka.
//
// # The order of checks
//
// The surface reads the body first, so its own answers come before these: 413
// for a body over the limit, 400 for one that cannot be decompressed. Then, each
// step only when the ones before it found nothing:
//
//  1. Credentials. A key decides alone: a malformed, unknown, expired, revoked or
//     rotated one is 401 even where a good client id stands beside it. Without a
//     key the client id is the query's website_id, else the first event's
//     websiteId, read before the body is validated. Neither: 401. A key that
//     cannot be looked up: 503 SERVICE_UNAVAILABLE.
//  2. Limits. A key, or an address for one website, has its requests counted: 429.
//     Client ids that are no website's are counted by the address alone.
//  3. Decoding. Every event is decoded and validated; one bad event refuses the
//     batch with a list of all problems: 400, or 413 where only properties are
//     too large.
//  4. Access. A key needs track:events (403 FORBIDDEN). An event's target is its
//     websiteId, else the query's website_id, else the website that the key is
//     limited to, else, for a key to all websites, the organization. A target
//     must exist and belong to the key's organization (404) and be covered by the
//     key (403 ACCESS_DENIED). Without a key, the client id must be a website's
//     (404) that has an organization (400 WEBSITE_MISSING_ORGANIZATION), and an
//     event may name no other one (403 ACCESS_DENIED).
//  5. Quota. An organization whose month is used up is 402 QUOTA_EXCEEDED, and one
//     that an external service decides about and has not is 503
//     BILLING_UNAVAILABLE.
//  6. Records. Visitor ids are hashed with the salt of the UTC day of receipt
//     unless event or website say otherwise; a salt that is not known and cannot
//     be read is 503 SERVICE_UNAVAILABLE. Each event becomes one record.
//  7. Publication. All records are sent, and every acknowledgement is waited for:
//     503 DELIVERY_UNAVAILABLE unless all arrive in time.
//
// Nothing is published before step 7, so every refusal is of the whole request.
//
// # Files
//
// Import takes the same steps for events of a file, under a key, into the backfill
// topic. There each event stands for itself: one that step 3 or the target in step
// 4 refuses does not keep the others out. It is limited neither in size nor in rate, for its caller
// reads one bounded run of events after another.
//
// # What is promised
//
// A nil error means that every event is stored by all in-sync replicas. After
// DELIVERY_UNAVAILABLE some events may be stored; the caller sends them again
// with the same eventId. A duplicate is accepted and counted like any event: the
// sink removes it. The body is not needed after Track returns.
package ingest
