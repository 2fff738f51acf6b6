// Package session signs people in and out.
//
// A session is opened by a token in a cookie; only the token's hash is kept. It
// ends when it has not been used for a while, when it is as old as a session may
// get, when the person ends it, and with every change of the password. Nothing
// of it is cached: a session that has ended opens nothing any more, in every
// process, with the next request.
//
// The package promises that nobody learns from signing in or from asking for a
// new password whether an address has an account: the responses are the same, and
// so is the work that they take. Attempts are counted by network and by account, and
// apart for each client that an account knows, so that nobody's failures keep that one
// out. What is mailed to an address that nobody has verified is bounded, and holds
// nothing that anybody wrote. It refuses to know cookies: those are the HTTP
// surface's.
package session

import (
	"errors"
	"time"

	"github.com/millrace/millrace/internal/contract/id"
	"github.com/millrace/millrace/internal/tenant/token"
)

// Errors of stores.
var (
	ErrNotFound        = errors.New("session not found")
	ErrResetNotFound   = errors.New("the password reset token is unknown, expired or already used")
	ErrPasswordChanged = errors.New("the password has changed since it was read")

	ErrVerificationNotFound = errors.New("the verification token is unknown, expired, already used or another user's")
	ErrVerified             = errors.New("the address is already verified")
)

// MaxSessions is how many sessions a person has at most; one more ends the
// oldest.
const MaxSessions = 100

// seenEvery is how exact LastSeenAt is: a session in use is written down no more
// often.
const seenEvery = 5 * time.Minute

// Session is a person signed in from one browser or program.
type Session struct {
	ID        string // "ses_" + ULID
	UserID    string
	Hash      token.Hash // of the token that opens it
	IP        string     // of the client that signed in
	UserAgent string     // of it, at most audit.MaxUserAgent bytes
	CreatedAt time.Time
	// SeenAt is when the session was used last, to some minutes.
	SeenAt time.Time
	// ExpiresAt is when the session ends however much it is used.
	ExpiresAt time.Time
}

// Lifetimes say how long sessions last.
type Lifetimes struct {
	Idle     time.Duration // without being used
	Absolute time.Duration
}

// newSession makes a session of a user and the token that opens it.
func newSession(userID, ip, userAgent string, l Lifetimes, now time.Time) (*Session, string) {
	text, hash := token.New()
	return &Session{
		ID: id.New("ses"), UserID: userID, Hash: hash, IP: ip, UserAgent: userAgent,
		CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(l.Absolute),
	}, text
}

// Live reports whether the session opens anything at now.
func (s *Session) Live(l Lifetimes, now time.Time) bool {
	return now.Before(s.ExpiresAt) && now.Before(s.SeenAt.Add(l.Idle))
}

// ResetLife is how long a permission to set a new password is good for.
const ResetLife = time.Hour

// Reset is the permission to set a new password, for whoever has its token.
type Reset struct {
	UserID    string
	TokenHash token.Hash
	CreatedAt time.Time
	ExpiresAt time.Time
}

// NewReset makes a permission and its token.
func NewReset(userID string, now time.Time) (*Reset, string) {
	text, hash := token.New()
	return &Reset{UserID: userID, TokenHash: hash, CreatedAt: now, ExpiresAt: now.Add(ResetLife)}, text
}
