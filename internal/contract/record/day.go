package record

// MillisPerDay is the length of a UTC day, which has no leap seconds.
const MillisPerDay = 24 * 60 * 60 * 1000

// Day returns the number of the UTC day, since 1970, that a time in Unix milliseconds of
// 1970 or later is in.
func Day(millis int64) int32 { return int32(millis / MillisPerDay) }
