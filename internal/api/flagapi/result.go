package flagapi

import (
	"strconv"

	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
)

// outcome is what became of an evaluation. Those below notFound are flageval's reasons.
type outcome uint8

const (
	// notFound is a flag that is not there, that the caller may not see, or that is off: who
	// asks cannot tell these apart.
	notFound = outcome(flageval.ByDefault) + 1
	// bySegment is a rule that asks for a segment.
	bySegment = notFound + 1
	outcomes  = bySegment + 1
)

// reasons are the outcomes as the routes tell them. What is off is told as not found.
var reasons = [outcomes]string{
	flageval.Off:                notFoundReason,
	flageval.PrerequisiteFailed: "PREREQUISITE_FAILED",
	flageval.ByTarget:           "USER_RULE_MATCH",
	flageval.ByRule:             "USER_RULE_MATCH",
	flageval.ByRollout:          "ROLLOUT_ENABLED",
	flageval.BySplit:            "MULTIVARIANT_EVALUATED",
	flageval.RolloutMiss:        "ROLLOUT_DISABLED",
	flageval.ByDefault:          "BOOLEAN_DEFAULT",
	notFound:                    notFoundReason,
	bySegment:                   "TARGET_GROUP_MATCH",
}

const (
	notFoundReason = "FLAG_NOT_FOUND"
	// errorReason is the reason of an evaluation that failed.
	errorReason = "EVALUATION_ERROR"
)

// Answers without a flag.
const (
	missing = `{"enabled":false,"value":false,"payload":null,"reason":"` + notFoundReason + `"}`
	failed  = `{"enabled":false,"value":false,"payload":null,"reason":"` + errorReason + `"}`
)

func outcomeOf(r flageval.Result) outcome {
	if r.Reason == flageval.ByRule && r.Segment {
		return bySegment
	}
	return outcome(r.Reason)
}

// appendResult appends what somebody gets of a flag that is not off. Values and payloads are
// kept as JSON, and keys have nothing in them that JSON escapes.
func appendResult(dst []byte, f *flagset.Flag, r flageval.Result) []byte {
	v := f.Variant(r.Variant)
	on := f.About.Type.On(v, r.Reason)
	dst = strconv.AppendBool(append(dst, `{"enabled":`...), on)
	dst = append(append(dst, `,"value":`...), v.Value...)
	dst = append(dst, `,"payload":`...)
	if on && len(v.Payload) > 0 {
		dst = append(dst, v.Payload...)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(append(dst, `,"reason":"`...), reasons[outcomeOf(r)]...)
	return append(append(append(dst, `","variant":"`...), v.Key...), `"}`...)
}
