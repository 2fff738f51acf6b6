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
