package event

// Limits of one custom event (specification 2.2 and 8). Lengths are counted in
// Unicode code points, sizes in bytes.
const (
	MaxNameLen         = 256
	MaxEventIDLen      = 512
	MaxPathLen         = 2048
	MaxAnonymousIDLen  = 256
	MaxProfileIDLen    = 256
	MaxSessionIDLen    = 256
	MaxNamespaceLen    = 64
	MaxSourceLen       = 64
	MaxWebsiteIDLen    = 255
	MaxPropertiesKeys  = 50
	MaxPropertiesBytes = 32 << 10 // of compact JSON
	MaxBodyBytes       = 2 << 20  // of a request's body, compressed and decompressed
	MaxDepth           = 32       // levels of nested objects and arrays in a body
)

// Limit is one row of the reference of limits.
type Limit struct {
	Name   string // what is limited: a field, or words for what has no field
	Min    int64  // 0 where there is no lower limit
	Max    int64  // 0 where there is no upper limit
	Unit   string
	Status int // HTTP status of a request that exceeds it
	Note   string
}

// Limits lists every limit of POST /track in the order of the documentation,
// which is made from it. Tests try each at the limit and one beyond.
var Limits = []Limit{
	{"name", 1, MaxNameLen, "code points", 400, "required"},
	{"properties", 0, MaxPropertiesKeys, "keys", 413, "keys of the object itself; those of nested objects do not count"},
	{"properties", 0, MaxPropertiesBytes, "bytes", 413, "of compact JSON: as sent, less insignificant white space"},
	{"eventId", 0, MaxEventIDLen, "code points", 400, "empty counts as absent"},
	{"path", 0, MaxPathLen, "code points", 400, "empty counts as absent"},
	{"anonymousId", 0, MaxAnonymousIDLen, "code points", 400, "empty counts as absent"},
	{"profileId", 1, MaxProfileIDLen, "code points", 400, ""},
	{"sessionId", 0, MaxSessionIDLen, "code points", 400, "empty counts as absent"},
	{"timestamp", MinTimeMillis, MaxTimeMillis, "Unix milliseconds", 400, "more than an hour after receipt is stored as the time of receipt"},
	{"namespace", 0, MaxNamespaceLen, "code points", 400, "empty counts as absent"},
	{"source", 0, MaxSourceLen, "code points", 400, "empty counts as absent"},
	{"websiteId", 0, MaxWebsiteIDLen, "code points", 400, "empty counts as absent"},
	{"events in a batch", 1, 0, "events", 400, "at most what the size of the body allows"},
	{"nesting", 0, MaxDepth, "levels", 400, "of objects and arrays in the whole body"},
	{"body", 0, MaxBodyBytes, "bytes", 413, "as sent, and again after decompression"},
}
