package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

const (
	stateVersion = 1
	// maxStateBytes is how much metadata brokers keep beside an offset unless they
	// are told otherwise (offset.metadata.max.bytes).
	maxStateBytes = 4096
	// MaxRejected is how many rejected offsets a plan can name within maxStateBytes.
	MaxRejected = 400
)

// ErrStateTooLong is the error of a state that brokers do not keep.
var ErrStateTooLong = fmt.Errorf("a plan exceeds %d bytes of commit metadata", maxStateBytes)

// State is what the sink commits beside an offset, as JSON, so that whoever owns
// the partition next decides and names everything as its predecessor did.
type State struct {
	// Version is that of this format.
	Version int `json:"v"`
	// TopicID is the topic's UUID: offsets of a topic that was recreated mean
	// something else.
	TopicID string `json:"t"`
	// Epoch is the first part of the plan's tokens.
	Epoch int64 `json:"e"`
	// LowWatermark is the window's oldest bucket of 5 minutes, in record time since 1970.
	// With the log it determines the window: each event of that bucket or later
	// that was seen before the committed offset is in it. 0 is not known.
	LowWatermark int32 `json:"f,omitempty"`
	// Ceilings are those of the window, each a bucket and an offset, ascending in both: what was
	// received from the bucket on is not in the window, of the records from the offset on, up to
	// that of the next ceiling, and of those before the first one either, as far as it was in it
	// by then.
	Ceilings [][2]int64 `json:"c,omitempty"`
	// Plan is the range that is being stored, first and last offset; nil for none.
	Plan *[2]int64 `json:"p,omitempty"`
	// PlanLeader is the leader epoch of the plan's last record. With its offset it names
	// the log that the plan was made of: in another one, whose leader lacked records of
	// this one, the record at that offset is of a later leader. nil is unknown: brokers name
	// no leader in batches of the oldest formats.
	PlanLeader *int32 `json:"l,omitempty"`
	// Rejected are the offsets of the plan whose rows the server rejects, counted
	// from the plan's first one.
	Rejected []int64 `json:"x,omitempty"`
}

// NewState returns the state of a partition in which nothing is planned.
func NewState(topicID [16]byte, epoch int64) State {
	return State{Version: stateVersion, TopicID: UUID(topicID), Epoch: epoch}
}

// Encode returns the state as commit metadata.
func (s State) Encode() (string, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("encoding the commit metadata: %w", err)
	}
	if len(b) > maxStateBytes {
		return "", ErrStateTooLong
	}
	return string(b), nil
}

// DecodeState reads commit metadata. known is false for the empty metadata of an
// offset that was set by somebody else's tool. What is not ours is an error: it
// may hide a plan.
func DecodeState(metadata string) (s State, known bool, err error) {
	if metadata == "" {
		return State{}, false, nil
	}
	if err := json.Unmarshal([]byte(metadata), &s); err != nil {
		return State{}, false, fmt.Errorf("reading the commit metadata %.100q: %w", metadata, err)
	}
	switch {
	case s.Version != stateVersion:
		return State{}, false, fmt.Errorf("reading the commit metadata: unknown version %d",
			s.Version)
	case s.Plan != nil && (s.Plan[0] < 0 || s.Plan[1] < s.Plan[0]):
		return State{}, false, fmt.Errorf("reading the commit metadata: %d-%d is not a range", s.Plan[0], s.Plan[1])
	case len(s.Rejected) > 0 && s.Plan == nil:
		return State{}, false, errors.New("reading the commit metadata: rejected offsets without a plan")
	case !s.ascending():
		return State{}, false, fmt.Errorf("reading the commit metadata: %v are not valid ceilings", s.Ceilings)
	}
	return s, true, nil
}

// ascending reports whether the ceilings are buckets and offsets in the order of offsets.
func (s State) ascending() bool {
	from := int64(0)
	for _, c := range s.Ceilings {
		if c[0] < 0 || c[0] > math.MaxInt32 || c[1] < from {
			return false
		}
		from = c[1]
	}
	return true
}
