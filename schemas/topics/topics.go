// Package topics holds the JSON Schemas of the Kafka topics' values, one file a
// topic and version. A schema only ever grows by optional fields.
package topics

import "embed"

// Files holds the schemas, named like "events.v1.json".
//
//go:embed *.json
var Files embed.FS
