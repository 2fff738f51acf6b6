package schema

import (
	"github.com/millrace/millrace/internal/adapter/clickhouse/native"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// FlagExposures holds the exposures of exposures.v1. What names a visitor has the names
// that it has everywhere, so that erasures and retention find it.
var FlagExposures = recordTable(
	"flag_exposures",
	"Variants of feature flags that visitors received, "+
		"once per website, visitor, flag, variant, environment and UTC day.",
	[]Column{called("name", "Key of the flag.")},
	asEvents("event_key"),
	[]Column{
		called("event_id", "Made of website, visitor, flag, variant, environment and UTC day."),
		called("anonymous_id", "Visitor id, as in events; empty for a user."),
		called("profile_id", "The caller's own user id, or email: and the hash of an e-mail address; "+
			"empty for an anonymous visitor."),
		ofExposure("variant", "Key of the variant.", func(x *record.Exposure) []byte { return x.Variant }),
		ofExposure("environment", "Environment of the evaluation; empty for the base.",
			func(x *record.Exposure) []byte { return x.Environment }),
		ofExposure("reason", "Reason for the variant, such as rollout or split; empty if a client reported the exposure.",
			func(x *record.Exposure) []byte { return x.Reason }),
		{
			Name: "sample_percent", Type: "UInt8", Codec: "ZSTD(1)",
			Doc: "Share of visitors whose exposures were recorded, in percent, 1 to 100.",
			Native: native.Number(native.UInt8,
				func(r *sink.Row) uint8 { return uint8(max(1, min(exposureOf(r).Sample, 100))) }),
		},
	},
)

// noExposure is what a record says of an exposure that has nothing of one.
var noExposure record.Exposure

func exposureOf(r *sink.Row) *record.Exposure {
	if r.Event.Exposure == nil {
		return &noExposure
	}
	return r.Event.Exposure
}

// ofExposure is a column of a text of few values that exposures alone have.
func ofExposure(name, doc string, get func(*record.Exposure) []byte) Column {
	return Column{
		Name: name, Type: "LowCardinality(String)", Doc: doc,
		Native: native.LowCardinality(func(r *sink.Row) []byte { return get(exposureOf(r)) }),
	}
}
