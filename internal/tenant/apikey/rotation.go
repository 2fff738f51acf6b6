package apikey

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// rotated returns the key with a new secret. The old one is accepted for grace, 0
// to MaxGrace, after now; the one before it dies in any case.
func (k *Key) rotated(prefix string, grace time.Duration, now time.Time) (is *Key, secret string, err error) {
	if grace < 0 || grace > MaxGrace {
		var bad apierr.Rejection
		bad.Add("gracePeriodSeconds", "range", "gracePeriodSeconds must be from 0 to %d", MaxGrace/time.Second)
		return nil, "", bad.Err()
	}
	if secret, err = Generate(prefix); err != nil {
		return nil, "", fmt.Errorf("generating a secret: %w", err)
	}
	is = managed.Next(k, now)
	is.RotatedAt = now
	is.OldHash, is.OldHashUntil = [HashLen]byte{}, time.Time{}
	if grace > 0 {
		is.OldHash, is.OldHashUntil = k.Hash, now.Add(grace)
	}
	is.Start, is.Hash = Start(secret), HashOf([]byte(secret))
	return is, secret, nil
}

// Unrevoked returns the key as it was before its revocation, the change that made
// it what it is: for the audit of keys that are revoked together.
func (k *Key) Unrevoked() *Key {
	was := *k
	was.Version--
	was.RevokedAt = time.Time{}
	return &was
}

// revoked returns the key as it is after its revocation.
func (k *Key) revoked(now time.Time) *Key {
	is := managed.Next(k, now)
	is.RevokedAt = now
	return is
}

// deleted returns the key as it is after its deletion. Its secrets stay, so that
// no other key can ever have them.
func (k *Key) deleted(now time.Time) *Key {
	is := managed.Next(k, now)
	is.DeletedAt = now
	return is
}
