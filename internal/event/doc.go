// Package event says what a caller may send: the fields of each kind of event,
// their limits, and how a body is decoded. It is strict where JSON libraries
// are lenient (duplicate keys, invalid UTF-8, numbers that no float64 holds are
// refused) and knows nothing of websites, keys or Kafka.
package event
