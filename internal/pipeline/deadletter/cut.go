package deadletter

import "fmt"

// Sizes are those of a record in the log: bytes of its key and of its value, and how many
// headers it has.
type Sizes struct{ Key, Value, Headers int64 }

// cutText is the value of HeaderCut.
func cutText(s Sizes) string {
	return fmt.Sprintf("key=%d headers=%d value=%d", s.Key, s.Headers, s.Value)
}

// maxSent is how many bytes a letter may have to be sent again: a producer's batch takes a
// million, and headers are added. Writers of ours make no larger ones.
const maxSent = 990_000

// headerBytes is what a header takes besides its texts.
const headerBytes = 10

// tooLarge reports whether a letter cannot be sent again: only its beginning is there, or no
// batch would take it.
func (l *Letter) tooLarge() bool {
	size := len(l.Key) + len(l.Value)
	for _, h := range l.Headers {
		size += len(h.Key) + len(h.Value) + headerBytes
	}
	return l.Cut != "" || size > maxSent
}
