// Package idempotency lets a caller send a call again without having it made
// twice: the second call with an Idempotency-Key gets the first one's response.
//
// It promises that of all calls of one caller with one key, within 24 hours and
// from any number of processes, at most one is made, also when a process dies in
// the middle: with each change that is kept, the store notes the call in the same transaction.
// What is left of a call that has changed something is rejected, for its response is lost; one
// that has changed nothing may be sent again: at once where it was rejected or failed, else
// when it has run for too long to be believed in. Answers are
// sealed with the credential that the call came with, so that the store holds no
// secret that it does not hold anyway; whoever comes with another credential
// learns only that the call was made.
package idempotency

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Limits of calls.
const (
	MaxKeyLen = 255            // bytes of a key
	Keep      = 24 * time.Hour // how long a key is remembered
	// patience is how long a call may run before it is taken for lost. Where it was not, it
	// changes nothing any more: see ErrReplaced.
	patience = time.Minute
	// tidyEvery is how often one process removes what is forgotten.
	tidyEvery = time.Hour
)

// HashLen is the length of a hash in bytes.
const HashLen = sha256.Size

// Row is what the store keeps of a call.
type Row struct {
	Caller string // as in Call
	// Key is the hash of the caller's key, Request that of the call.
	Key, Request [HashLen]byte
	Sealed       []byte // the response; empty while the call runs
	StartedAt    time.Time
	Changed      bool // a change was kept that is the call's
}

// ErrReplaced is what a call is told that changes something when another one was claimed in
// its place.
var ErrReplaced = &apierr.Error{
	Code:    apierr.Conflict,
	Message: "The call took too long, and another call with this Idempotency-Key replaced it",
}

// Store keeps rows.
type Store interface {
	// ClaimCall adds a row, in place of one of the same caller and key that was started
	// before since, or not after lost and has neither a response nor a change. It returns
	// the row that is there already otherwise, and nil when it added its own.
	ClaimCall(ctx context.Context, row *Row, since, lost time.Time) (*Row, error)
	// FinishCall keeps the response of a claimed call.
	FinishCall(ctx context.Context, row *Row) error
	// AbandonCall removes a claimed call; with unchanged, only one without a change.
	AbandonCall(ctx context.Context, row *Row, unchanged bool) error
	// ForgetCalls removes the rows that were started before a time.
	ForgetCalls(ctx context.Context, before time.Time) error
}

// Call is a call that may come again.
type Call struct {
	Caller    string // who calls, such as "user:usr_1"
	Key       string // the Idempotency-Key
	Operation string // the path
	Body      []byte // in one form for all that mean the same
	// Credential is the secret that the call came with.
	Credential string
}

// Calls remembers calls. It is safe for concurrent use.
type Calls struct {
	store Store
	now   func() time.Time
	tidy  atomic.Int64 // when to remove next, in Unix nanoseconds
}

// New returns Calls; now may be nil for time.Now.
func New(store Store, now func() time.Time) *Calls {
	if now == nil {
		now = time.Now
	}
	return &Calls{store: store, now: now}
}

// Claim is the right to make a call.
type Claim struct {
	calls *Calls
	row   *Row
	seal  [HashLen]byte
}

// Begin returns the right to make a call, or the response of the same call made
// before; never both. It is a Validation error for a key that is none, a
// KeyReused error for one that stands for another call, and a Conflict error
// while the call runs, when it was lost, and for another credential.
func (k *Calls) Begin(ctx context.Context, call *Call) (*Claim, []byte, error) {
	if !plausible(call.Key) {
		return nil, nil, apierr.Invalid("Idempotency-Key", "invalid",
			"Idempotency-Key must have 1 to 255 printable ASCII characters")
	}
	now := k.now()
	if err := k.forget(ctx, now); err != nil {
		return nil, nil, err
	}
	row := &Row{
		Caller: call.Caller, StartedAt: now,
		Key:     sha256.Sum256([]byte(call.Key)),
		Request: hashOf([]byte(call.Operation), call.Body),
	}
	claim := &Claim{
		calls: k, row: row, seal: hashOf([]byte("idempotency answer"), []byte(call.Credential), []byte(call.Key)),
	}
	before, err := k.store.ClaimCall(ctx, row, now.Add(-Keep), now.Add(-patience))
	switch {
	case err != nil:
		return nil, nil, err
	case before == nil:
		return claim, nil, nil
	case subtle.ConstantTimeCompare(before.Request[:], row.Request[:]) == 0:
		return nil, nil, apierr.New(apierr.KeyReused)
	case len(before.Sealed) == 0 && now.Sub(before.StartedAt) < patience:
		return nil, nil, &apierr.Error{
			Code: apierr.Conflict, Message: "The first call with this Idempotency-Key is still running", RetryAfter: time.Second,
		}
	case len(before.Sealed) == 0:
		return nil, nil, &apierr.Error{Code: apierr.Conflict, Message: "The first call with this Idempotency-Key was " +
			"interrupted; check whether it took effect, and use a new key to repeat it"}
	}
	response, err := claim.open(before.Sealed)
	if err != nil {
		return nil, nil, &apierr.Error{
			Code: apierr.Conflict, Message: "The first call with this Idempotency-Key took effect; only the credential " +
				"that made it can read its response", Err: err,
		}
	}
	return nil, response, nil
}

// Finish keeps the response of the call.
func (c *Claim) Finish(ctx context.Context, response []byte) error {
	gcm, err := c.cipher()
	if err != nil {
		return err
	}
	nonce := make([]byte, gcm.NonceSize())
	rand.Read(nonce) // never fails
	c.row.Sealed = gcm.Seal(nonce, nonce, response, c.row.Request[:])
	return c.calls.store.FinishCall(ctx, c.row)
}

// Abandon gives the right back: the call was rejected and may be sent again.
func (c *Claim) Abandon(ctx context.Context) error {
	return c.calls.store.AbandonCall(ctx, c.row, false)
}

// AbandonUnchanged is Abandon for a call that failed: it may be sent again unless something was
// changed by it.
func (c *Claim) AbandonUnchanged(ctx context.Context) error {
	return c.calls.store.AbandonCall(ctx, c.row, true)
}

// rowKey is where the row of a call stands in a context.
type rowKey struct{}

// Within returns the context in which the call is made: changes in it are its own.
func (c *Claim) Within(ctx context.Context) context.Context {
	return context.WithValue(ctx, rowKey{}, c.row)
}

// Of returns the call that changes in a context are of, for the store to note; nil for none.
func Of(ctx context.Context) *Row {
	row, _ := ctx.Value(rowKey{}).(*Row)
	return row
}

var errSealed = errors.New("the response is encrypted for another credential")

func (c *Claim) open(sealed []byte) ([]byte, error) {
	gcm, err := c.cipher()
	if err != nil {
		return nil, err
	}
	if len(sealed) < gcm.NonceSize() {
		return nil, errSealed
	}
	response, err := gcm.Open(nil, sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():], c.row.Request[:])
	if err != nil {
		return nil, errSealed
	}
	return response, nil
}

func (c *Claim) cipher() (cipher.AEAD, error) {
	block, err := aes.NewCipher(c.seal[:])
	if err != nil {
		return nil, fmt.Errorf("encrypting a response: %w", err)
	}
	return cipher.NewGCM(block)
}

// forget removes old rows, now and then.
func (k *Calls) forget(ctx context.Context, now time.Time) error {
	due := k.tidy.Load()
	if now.UnixNano() < due || !k.tidy.CompareAndSwap(due, now.Add(tidyEvery).UnixNano()) {
		return nil
	}
	return k.store.ForgetCalls(ctx, now.Add(-Keep))
}

func plausible(key string) bool {
	for _, c := range []byte(key) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return len(key) >= 1 && len(key) <= MaxKeyLen
}

// hashOf hashes parts, each with its length in front, so that no two lists of
// parts are the same text.
func hashOf(parts ...[]byte) (sum [HashLen]byte) {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write(p)
	}
	h.Sum(sum[:0])
	return sum
}
