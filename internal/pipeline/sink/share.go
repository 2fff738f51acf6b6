package sink

import (
	"cmp"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

const millisPerHour = 60 * 60 * 1000

// maxOwnerBytes is more than any owner's id has. What is longer, in a record that
// nobody of ours wrote, is nobody's.
const maxOwnerBytes = 128

// shares collects the shares of a range. The letters that the build found are
// counted while those that the server made are.
type shares struct {
	mu    sync.Mutex
	index map[shareKey]int
	all   []ledger.Share
}

type shareKey struct {
	owner string
	hour  int64
}

// add counts a record that is no row. One without an owner is nobody's.
func (s *shares) add(owner []byte, receivedAt int64, of ledger.Share) {
	if len(owner) == 0 || len(owner) > maxOwnerBytes || !utf8.Valid(owner) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	hour := receivedAt / millisPerHour
	i, ok := s.index[shareKey{string(owner), hour}]
	if !ok {
		if s.index == nil {
			s.index = map[shareKey]int{}
		}
		i = len(s.all)
		key := shareKey{string(owner), hour}
		s.index[key], s.all = i, append(s.all, ledger.Share{Owner: key.owner, Hour: hour})
	}
	a := &s.all[i]
	a.Duplicates += of.Duplicates
	a.DeadLetters += of.DeadLetters
	a.Erased += of.Erased
}

// list returns the shares by owner and hour.
func (s *shares) list() []ledger.Share {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.all)
	slices.SortFunc(all,
		func(a, b ledger.Share) int { return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Hour, b.Hour)) })
	return all
}

// share counts a record of an owner that is no row. Of a website that was erased as
// a whole nothing is told any more.
func (j *job) share(owner []byte, receivedAt int64, of ledger.Share) {
	if !j.tombstones.Load().Covers(owner, nil, nil, receivedAt) {
		j.shares.add(owner, receivedAt, of)
	}
}

// addLetters counts dead letters by their key, which is the owner in every record
// of ours, whatever is wrong with its value.
func (j *job) addLetters(letters []DeadLetter) {
	for i := range letters {
		o := &letters[i].Original
		j.share(o.Key, j.receivedAround(o.Offset), ledger.Share{DeadLetters: 1})
	}
}

// receivedAround returns when the record at an offset was received; of one whose
// headers do not say, when the one before it was that says so, else the one behind
// it. In a range in which none says so, the time that the log has of it counts, or now
// where it has none.
func (j *job) receivedAround(offset int64) int64 {
	at, _ := slices.BinarySearchFunc(j.Records, offset,
		func(h buffer.Held, offset int64) int { return cmp.Compare(h.Offset, offset) })
	for i := min(at, len(j.Records)-1); i >= 0; i-- {
		if j.Records[i].Named() {
			return j.Records[i].ReceivedAt
		}
	}
	for i := at; i < len(j.Records); i++ {
		if j.Records[i].Named() {
			return j.Records[i].ReceivedAt
		}
	}
	if at < len(j.Records) && j.Records[at].ReceivedAt > 0 {
		return j.Records[at].ReceivedAt
	}
	return time.Now().UnixMilli()
}
