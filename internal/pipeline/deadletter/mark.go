package deadletter

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
)

// MarksTopic is the compacted topic of what became of letters, without prefix.
// The key of a record is a letter's id. Marks are kept for longer than letters.
const MarksTopic = "dlq.marks.v1"

// State is what became of a letter.
type State string

// The states.
const (
	StateOpen     State = "open"     // nothing yet; never marked
	StateSending  State = "sending"  // about to be sent again, or sent and not yet noted
	StateReplayed State = "replayed" // sent again, and acknowledged
	StateParked   State = "parked"   // put aside
)

// markVersion is the revision of Mark that this build writes and reads.
const markVersion = 1

// Mark is the value of a record of MarksTopic.
type Mark struct {
	Version int    `json:"v"`
	State   State  `json:"state"`
	Run     string `json:"run"` // the command that wrote it
	// After names the mark that a command has seen when it decided to send; empty
	// where there was none. A mark that does not follow it is void: somebody else
	// was faster.
	After string `json:"after,omitempty"`
}

// name is what a mark is called in After.
func (m Mark) name() string { return m.Run + "/" + string(m.State) }

// lease is how long a letter belongs to the replay that marked it before the
// replay is taken for dead. Its records were delivered or given up long before.
const lease = 2 * time.Minute

// noted is the last mark of a letter that counts.
type noted struct {
	Mark

	at     time.Time
	unsent bool // it says sending, and nothing was sent
}

// marks is what became of letters, by id.
type marks map[string]noted

// stateOf returns a letter's state.
func (m marks) stateOf(id string) State {
	if n, ok := m[id]; ok && !n.unsent {
		return n.State
	}
	return StateOpen
}

// nameOf returns the name of a letter's last mark; empty when it has none.
func (m marks) nameOf(id string) string {
	if n, ok := m[id]; ok {
		return n.name()
	}
	return ""
}

// read takes the next record of MarksTopic.
func (m marks) read(r *record.Record, at record.Position) error {
	if len(r.Value) == 0 {
		delete(m, string(r.Key))
		return nil
	}
	var mark Mark
	if err := json.Unmarshal(r.Value, &mark); err != nil {
		return fmt.Errorf("reading the mark at %s: %w", FormatPosition(at), err)
	}
	if mark.Version != markVersion {
		return fmt.Errorf("reading the mark at %s: version %d is unknown, this build knows %d",
			FormatPosition(at), mark.Version, markVersion)
	}
	switch mark.State {
	case StateSending, StateReplayed, StateParked:
	default:
		return fmt.Errorf("reading the mark at %s: unknown state %q", FormatPosition(at), mark.State)
	}
	m.apply(string(r.Key), noted{Mark: mark, at: r.Time})
	return nil
}

// apply takes the next mark of the topic in. The topic's order decides between
// commands that mark one letter at the same time, so all see the same. Taking
// marks in a second time, up to the last one, changes nothing; earlier ones may
// have been compacted away, so the first that is seen always counts.
func (m marks) apply(id string, next noted) {
	if _, ok := m[id]; ok && next.State == StateSending && next.After != m.nameOf(id) {
		return
	}
	m[id] = next
}

// markRecord makes the record of a mark.
func markRecord(id string, mark Mark, now time.Time) record.Record {
	mark.Version = markVersion
	value, _ := json.Marshal(mark) //nolint:errchkjson // strings and a number
	return record.Record{Topic: MarksTopic, Key: []byte(id), Value: value, Time: now}
}
