package event

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestTimestampIsReadInEveryForm(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 12, 34, 56, 789e6, time.UTC)
	second, minute, day := at.Truncate(time.Second), at.Truncate(time.Minute), at.Truncate(24*time.Hour)
	for value, want := range map[string]time.Time{
		`1777638896789`:                                                      at,
		`1777638896789.999`:                                                  at,
		`1.777638896789e12`:                                                  at,
		`"1777638896789"`:                                                    at,
		`"1777638896789.5"`:                                                  at,
		`"2026-05-01T12:34:56.789Z"`:                                         at,
		`"2026-05-01t12:34:56.789z"`:                                         at,
		`"2026-05-01T12:34:56.789123456Z"`:                                   at,
		`"2026-05-01T12:34:56,789Z"`:                                         at,
		`"2026-05-01T12:34:56.789"`:                                          at,
		`"2026-05-01 12:34:56.789"`:                                          at,
		`"2026-05-01 12:34:56.789+00"`:                                       at,
		`"2026-05-01 12:34:56.789 UTC"`:                                      at,
		`"2026-05-01 14:34:56.789 +0200"`:                                    at,
		`"2026-05-01T14:34:56.789+02:00"`:                                    at,
		`"2026-05-01T09:04:56.789-03:30"`:                                    at,
		`"2026-05-01T12:34:56.789-00:00"`:                                    at,
		`"2026-05-02T12:33:56.789+23:59"`:                                    at,
		`"2026\u002d05-01T12:34:56.789Z"`:                                    at,
		`"+002026-05-01T12:34:56.789Z"`:                                      at,
		`"2026-05-01T12:34:56.7Z"`:                                           second.Add(700 * time.Millisecond),
		`"2026-05-01T12:34:56Z"`:                                             second,
		`"2026-05-01T12:34:56+0000"`:                                         second,
		`"Fri, 01 May 2026 12:34:56 GMT"`:                                    second,
		`"Fri, 01 May 2026 14:34:56 +0200"`:                                  second,
		`"Fri May 01 2026 14:34:56 GMT+0200"`:                                second,
		`"Fri May 01 2026 14:34:56 GMT+0200 (Central European Summer Time)"`: second,
		`"2026-05-01T12:34Z"`:                                                minute,
		`"2026-05-01T12:34"`:                                                 minute,
		`"2026-05-01"`:                                                       day,
		`"2024-02-29"`:                                                       time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC),
		`946684800000`:                                                       time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		`"2000-01-01"`:                                                       time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		`8640000000000000`:                                                   time.UnixMilli(MaxTimeMillis),
		`"+275760-09-13T00:00:00Z"`:                                          time.UnixMilli(MaxTimeMillis),
	} {
		e := decodes(t, oneEvent("timestamp", value))[0]
		if !e.HasTime || e.TimeMillis != want.UnixMilli() {
			t.Errorf("%s is read as %d, want %d", value, e.TimeMillis, want.UnixMilli())
		}
	}
}

func TestTimestampRejectsWhatIsNoTime(t *testing.T) {
	t.Parallel()
	early := Problem{
		0, "timestamp", RuleTooEarly, "timestamp must not be before 2000-01-01; a number is Unix time in milliseconds",
	}
	for _, value := range []string{
		`946684799999`, `946684799999.9`, `0`, `-0`, `-1795000000000`, `1795000000`, `"1795000000"`, `"946684799999"`,
		`"1999-12-31T23:59:59.999Z"`, `"2000-01-01T00:59:59+01:00"`, `"0000-01-01"`, `"-002026-05-01T00:00:00Z"`,
		`"Fri, 31 Dec 1999 23:59:59 GMT"`,
	} {
		rejects(t, oneEvent("timestamp", value), early)
	}
	invalid := Problem{0, "timestamp", RuleInvalidTime, "timestamp must be Unix milliseconds or an ISO 8601 string"}
	for _, value := range []string{
		`8640000000000001`, `17950000000000000`, `1e300`, `-1e300`, `"8640000000000001"`, `"+275760-09-13T00:00:00.001Z"`,
		`""`, `"now"`, `"2026"`, `"2026-05"`, `"20260501"`, `"2026-5-1"`, `"2026-05-01T"`, `"2026-05-01T12"`, `"2026-05-01Z"`,
		`"2026-00-01"`, `"2026-13-01"`, `"2026-05-00"`, `"2026-05-32"`, `"2026-02-29"`, `"2026-04-31"`,
		`"2026-05-01T24:00:00Z"`,
		`"2026-05-01T23:60:00Z"`, `"2026-05-01T23:59:60Z"`, `"2026-05-01T12:34:56.Z"`, `"2026-05-01T12:34:56+"`,
		`"2026-05-01T12:34:56+2"`, `"2026-05-01T12:34:56+24:00"`, `"2026-05-01T12:34:56+02:60"`, `"2026-05-01T12:34:56 "`,
		`"2026-05-01T12:34:56ZZ"`, `"2026-05-01T12:34:56 CEST"`, `" 2026-05-01"`, `"2026-05-01 "`, `"2026/05/01"`,
		`"1795000000000 "`, `"1795000000000."`, `"-1795000000000"`, `"1.795e12"`, `"Fri, 32 May 2026 12:34:56 GMT"`,
		`"Fri, 01 May 2026 12:34:56 PST"`, `"` + strconv.Itoa(1e18) + `"`,
		`"2026-05-01T12:34:56.` + strings.Repeat("7", 120) + `Z"`,
	} {
		rejects(t, oneEvent("timestamp", value), invalid)
	}
	for _, value := range []string{`true`, `[]`, `{}`} {
		rejects(t, oneEvent("timestamp", value),
			Problem{0, "timestamp", RuleWrongType, "timestamp must be a number of Unix milliseconds or an ISO 8601 string"})
	}
}
