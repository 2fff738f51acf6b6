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
	const refused, paid = 400, 402
	return []Bound{
		{"flags of an organization, archived ones too", MaxFlags, "flags", paid},
		{"segments of an organization", MaxSegments, "segments", paid},
		{"definition of a flag, or a segment", MaxBytes, "bytes of compact JSON", refused},
		{"value or payload of a variant", flageval.MaxPayloadBytes, "bytes of compact JSON", refused},
		{"variants", flageval.MaxVariants, "of a flag", refused},
		{"rules", flageval.MaxRules, "in an environment", refused},
		{"conditions", flageval.MaxConditions, "of a rule or segment, nested ones too", refused},
		{"conditions within each other", flageval.MaxDepth, "deep", refused},
		{"values", flageval.MaxValues, "of a condition", refused},
		{"value of a condition", flageval.MaxValueLen, "code points", refused},
		{"people named by targets", flageval.MaxTargets, "in an environment", refused},
		{"people named by a segment", flageval.MaxTargets, "people", refused},
		{"userIds, emails", flageval.MaxIDLen, "code points each", refused},
		{"prerequisites", flageval.MaxPrereqs, "of a flag", refused},
		{"prerequisites that need each other in a row", MaxDepth, "flags", refused},
		{"environments", flageval.MaxEnvironments, "of a flag", refused},
		{"contexts of `flags/evaluate`", MaxContexts, "of a call", refused},
		{"keys of `flags/evaluate`", MaxKeys, "of a call", refused},
		{"keys times contexts of `flags/evaluate`", MaxAnswers, "of a call", refused},
		{"keys of `GET /public/v1/flags/bulk`", MaxServedKeys, "of a request", refused},
		{"exposures of `POST /public/v1/flags/exposures`", MaxExposures, "of a request", refused},
		{"each text of a context", flageval.MaxIDLen, "code points", refused},
		{"attributes of a context", MaxAttributes, "of a request", refused},
		{"steps that `flags/evaluate` explains", MaxSteps, "of an evaluation", 0},
		{"versions that are kept", KeptVersions, "of a flag", 0},
	}
}
