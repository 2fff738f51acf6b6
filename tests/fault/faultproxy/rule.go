package faultproxy

import "time"

// Kind says what happens to a connection.
type Kind uint8

// The kinds of faults.
const (
	// Pass lets everything through.
	Pass Kind = iota
	// Delay holds each piece of data back for Rule.Delay, in both directions.
	Delay
	// BlackHole lets nothing through. Connections stay open and new ones are
	// taken; what is on its way arrives when the rule ends.
	BlackHole
	// Reject resets all connections, and new ones as soon as they are made.
	Refuse
	// DropResponse lets a request through and its response up to the last byte, then
	// resets the client's connection: the server has done what it was asked to,
	// and the client does not know.
	DropResponse
	// CutRequest resets both connections once Rule.Bytes of a request passed.
	CutRequest
	// CutResponse resets both connections once Rule.Bytes of a response passed.
	CutResponse
	// HalfClose ends the stream to the server once Rule.Bytes of a request
	// passed; the server can still answer.
	HalfClose
	// Watch lets everything through; each request with Rule.Match counts as a strike.
	Watch
)

// String returns the name that reports and logs use.
func (k Kind) String() string {
	return [...]string{
		"pass", "delay", "black hole", "refuse", "drop answer", "cut request", "cut answer", "half close", "watch",
	}[k]
}

// aims reports whether a kind strikes requests rather than connections.
func (k Kind) aims() bool { return k >= DropResponse }

// Rule says what a Proxy does from now on.
type Rule struct {
	Kind Kind
	// Match picks the requests that contain it, for kinds that strike requests;
	// empty picks all.
	Match string
	// Bytes is how much passes before a cut, from the piece of data with Match in
	// it on.
	Bytes int64
	// Delay is the time that Delay adds.
	Delay time.Duration
	// Times is how often the rule strikes before it turns into Pass; 0 is always.
	Times int
	// Ends is the last byte of a complete response, for DropResponse. A server may
	// send it in the middle too; only silence after it counts.
	Ends byte
}
