// Package topics holds the types of the records on Millrace's Kafka topics, for
// programs that read the topics beside the service. It is generated from the same
// JSON Schemas that the service's own records are held against.
//
// Values are decoded with encoding/json. Decoding and encoding again loses
// nothing that the schema knows; properties keep the digits and escapes that were
// sent. Fields are only ever added, so a decoder must not refuse those that it
// does not know.
//
// The package is a module of its own, with nothing but the standard library, so
// that a reader takes none of the service's dependencies along; and it is apart
// from the client of the service's API, since a reader of topics calls no API. It
// knows no Kafka client: headers are named here, and read with the client's own
// types.
package topics
