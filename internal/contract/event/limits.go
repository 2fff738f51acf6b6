package event

// Limits of one event (specification 2.2 and 8). Lengths are counted in
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
	Min    int64  // see AtLeast
	Max    int64  // 0 where there is no upper limit
	Unit   string
	Status int // HTTP status of a request that exceeds it; 0 for a text that is cut
	Note   string
}

// unitOfNumbers is the unit of what is a number in JSON itself.
const unitOfNumbers = "as a number"

// AtLeast returns the lower limit, if there is one. 0 is one for a number only: nothing
// else can be less.
func (l *Limit) AtLeast() (least int64, ok bool) {
	return l.Min, l.Min > 0 || l.Min == 0 && l.Unit == unitOfNumbers
}

// Limits lists the limits of a form in the order of the documentation, which is made
// from it. Tests try each at the limit and one beyond.
func (f *Form) Limits() []Limit {
	var all []Limit
	for i := range f.Fields {
		all = f.Fields[i].limits(all)
	}
	return all
}

// limits appends the limits of one field.
func (f *Field) limits(all []Limit) []Limit {
	one := Limit{Name: f.Name, Min: f.Min, Max: f.Max, Status: 400, Note: f.Note}
	if len(f.Words) > 0 {
		return all
	}
	switch f.Type {
	case Object, Traits:
		one.Status = 413
		keys, bytes := one, one
		keys.Max, keys.Unit, keys.Note = MaxPropertiesKeys, "keys",
			"keys of the object itself; those of nested objects do not count"
		bytes.Max, bytes.Unit, bytes.Note = MaxPropertiesBytes, "bytes",
			"of compact JSON: as sent, less insignificant white space"
		return append(all, keys, bytes)
	case Time, Millis:
		one.Unit = "Unix milliseconds"
	case Number, Integer:
		if one.Unit = unitOfNumbers; f.Max == 0 {
			return all
		}
	case Size:
		one.Unit = "pixels"
	case Text, Address, Referral:
		if one.Unit = "code points"; f.Cut {
			one.Status = 0
		}
	case Choice, Word, absent:
		return all
	}
	return append(all, one)
}

// BodyLimits are those of every body.
var BodyLimits = []Limit{
	{"events in a batch", 1, 0, "events", 400, "at most what the size of the body allows"},
	{
		"events of POST /batch that break a rule", 0, MaxRejected, "events", 400,
		"each of them is answered for; one more refuses all",
	},
	{
		"nesting", 0, MaxDepth, "levels", 400,
		"of objects and arrays in the whole body; of POST /batch only the event is rejected",
	},
	{"body", 0, MaxBodyBytes, "bytes", 413, "as sent, and again after decompression"},
}
