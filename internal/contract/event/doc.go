// Package event says what a caller may send: the fields of each kind of event,
// their limits, and how a body is decoded. It knows nothing of websites, keys or
// Kafka.
//
// It is strict where JSON libraries are lenient. Rejected are duplicate keys, at
// every level and compared after unescaping; invalid UTF-8; numbers that no
// float64 holds; more than MaxDepth levels of nesting; raw control characters, bad
// escapes, and whatever else RFC 8259 does not allow. This holds for the whole
// body, unknown keys included, because a part of it is passed on as it came.
//
// It is lenient where callers need it. Unknown keys are ignored; null means
// absent, and so does an empty string where a field has no lower limit; a time
// without a zone is UTC, and one in a string may be any that parseTime lists; the
// escape of an unpaired surrogate becomes U+FFFD.
//
// Lengths are counted in Unicode code points after unescaping, the size of
// properties in bytes as they were written, less insignificant white space.
package event
