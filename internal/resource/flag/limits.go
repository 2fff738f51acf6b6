package flag

import "github.com/millrace/millrace/internal/resource/flag/flageval"

// Bound is a limit as the documentation has it.
type Bound struct {
	What   string
	Most   int
	Unit   string
	Beyond int // the status of one more
}

// Bounds lists the limits of flags and segments, in the order of the documentation.
func Bounds() []Bound {
	const rejected, paid = 400, 402
	return []Bound{
		{"flags of an organization, archived ones too", MaxFlags, "flags", paid},
		{"segments of an organization", MaxSegments, "segments", paid},
		{"definition of a flag, or a segment", MaxBytes, "bytes of compact JSON", rejected},
		{"value or payload of a variant", flageval.MaxPayloadBytes, "bytes of compact JSON", rejected},
		{"variants", flageval.MaxVariants, "of a flag", rejected},
		{"rules", flageval.MaxRules, "in an environment", rejected},
		{"conditions", flageval.MaxConditions, "of a rule or segment, nested ones too", rejected},
		{"conditions within each other", flageval.MaxDepth, "deep", rejected},
		{"values", flageval.MaxValues, "of a condition", rejected},
		{"value of a condition", flageval.MaxValueLen, "code points", rejected},
		{
			"`matches` value", flageval.MaxPatternSize,
			"instructions that it is compiled to; what a class such as `\\pL` lists counts by its memory", rejected,
		},
		{"`matches` values that differ", flageval.MaxPatternsSize, "instructions of a flag or segment in all", rejected},
		{"people named by targets", flageval.MaxTargets, "in an environment", rejected},
		{"people named by a segment", flageval.MaxTargets, "people", rejected},
		{"userIds, emails", flageval.MaxIDLen, "code points each", rejected},
		{"prerequisites", flageval.MaxPrereqs, "of a flag", rejected},
		{"prerequisites that need each other in a row", MaxDepth, "flags", rejected},
		{"environments", flageval.MaxEnvironments, "of a flag", rejected},
		{"contexts of `flags/evaluate`", MaxContexts, "of a call", rejected},
		{"keys of `flags/evaluate`", MaxKeys, "of a call", rejected},
		{"keys times contexts of `flags/evaluate`", MaxResults, "of a call", rejected},
		{"keys of `GET /public/v1/flags/bulk`", MaxServedKeys, "of a request", rejected},
		{"exposures of `POST /public/v1/flags/exposures`", MaxExposures, "of a request", rejected},
		{
			"each text of a context, names of attributes and texts in lists too", flageval.MaxIDLen, "code points", rejected,
		},
		{"attributes of a context", MaxAttributes, "of a request", rejected},
		{
			"cost of all evaluations", flageval.MaxCost,
			"units of a request; see [the guide](../guides/feature-flags.md#cost-of-an-evaluation)", rejected,
		},
		{"steps that `flags/evaluate` explains", MaxSteps, "of an evaluation", 0},
		{"versions that are kept", KeptVersions, "of a flag", 0},
		{
			"earlier versions that are kept", KeptVersionBytes,
			"bytes of an organization's flags in all, each with 1,024 bytes besides its texts", 0,
		},
	}
}
