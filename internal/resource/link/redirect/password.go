package redirect

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/fair"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/attempt"
)

// PassFor is how long a visitor who gave a link's password is not asked for it again.
const PassFor = time.Hour

// password asks for the link's password, if it has one.
func (h *Host) password(ctx context.Context, v *Visit) (bool, error) {
	switch {
	case v.Posted && v.link.PasswordHash == "":
		return false, apierr.New(apierr.MethodNotAllowed)
	case v.Posted:
		return true, h.try(ctx, v)
	case v.link.PasswordHash == "" || v.passed:
		return false, nil
	}
	v.Response = Response{Kind: AskPassword}
	return true, nil
}

// try takes a password that somebody typed. It counts before it is looked at, so that
// many at once are not more, and does not once it was right.
func (h *Host) try(ctx context.Context, v *Visit) error {
	network := attempt.Network(v.Addr.Unmap())
	sender := v.link.ID + v.link.PasswordHash + network // not recent after a change of the password
	recent := h.recent.Has(sender, v.at)
	giveBack, err := h.takePassword(v, recent)
	if err != nil {
		return err
	}
	share := fair.Owner{Tenant: v.link.OrganizationID, Name: network}
	if recent {
		share.Tenant += " recent"
	}
	right, err := h.deps.Passwords.Verify(ctx, share, v.link.PasswordHash, string(v.Password))
	if err == nil && !right {
		return &apierr.Error{Code: apierr.Forbidden, Message: "The password is wrong"}
	}
	giveBack()
	if err != nil {
		return err
	}
	h.recent.Add(v.link.ID, sender, v.at)
	v.Response = Response{Kind: Accepted, Pass: newPass(&v.link, v.at.Add(PassFor))}
	return nil
}

// takePassword counts a password for the visitor's address and, unless the address is recent,
// for the link. It returns how to take that back.
func (h *Host) takePassword(v *Visit, recent bool) (giveBack func(), err error) {
	who, link := h.passwords.networkOf(v.link.ID, v.Addr), h.guesses.text(v.link.ID)
	if err := h.passwords.take(who, 0, v.at); err != nil {
		return nil, err
	}
	if recent {
		return func() { h.passwords.giveBack(who) }, nil
	}
	if err := h.guesses.take(link, 0, v.at); err != nil {
		h.passwords.giveBack(who)
		return nil, err
	}
	return func() { h.passwords.giveBack(who); h.guesses.giveBack(link) }, nil
}

// passLen is the length of a pass before it is written in base64: when it ends, in Unix
// seconds, and a signature.
const passLen = 8 + sha256.Size

var passText = base64.RawURLEncoding

// newPass returns a pass for a link: good until a time, unless the password changes.
func newPass(l *link.Served, until time.Time) string {
	pass := binary.BigEndian.AppendUint64(make([]byte, 0, passLen), uint64(until.Unix()))
	return passText.EncodeToString(append(pass, signature(l, pass)...))
}

// passes reports whether a text is a pass for the link at a time. How long it takes tells
// nothing of how much of it is right.
func passes(l *link.Served, text []byte, now time.Time) bool {
	var room [passLen]byte
	if len(text) != passText.EncodedLen(passLen) {
		return false
	}
	if n, err := passText.Decode(room[:], text); err != nil || n != passLen {
		return false
	}
	until := int64(binary.BigEndian.Uint64(room[:8]))
	return hmac.Equal(room[8:], signature(l, room[:8])) && now.Unix() < until
}

// signature signs when a pass ends, for one link and one password of it. Both what is
// secret of the link and the hash of its password are told nobody.
func signature(l *link.Served, until []byte) []byte {
	mac := hmac.New(sha256.New, append(append([]byte(nil), l.Secret...), l.PasswordHash...))
	mac.Write([]byte("short-link pass\x00"))
	mac.Write([]byte(l.ID))
	mac.Write(until) // of a length that does not change, so that nothing of the id is taken for it
	return mac.Sum(nil)
}
