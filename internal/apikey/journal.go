package apikey

import (
	"encoding/hex"
	"time"

	"github.com/millrace/millrace/internal/audit"
	"github.com/millrace/millrace/internal/cidr"
	"github.com/millrace/millrace/internal/control"
)

// Action is what was done to a key, as the audit calls it.
type Action string

// The actions.
const (
	ActionCreated Action = "created"
	ActionUpdated Action = "updated"
	ActionRotated Action = "rotated"
	ActionRevoked Action = "revoked"
	ActionDeleted Action = "deleted"
)

// resource is what the audit calls a key.
const resource = "apikey"

// Entry is how the audit remembers what was done: was is nil for a new key. That
// the secret changed is told, the secret is not.
func Entry(action Action, was, is *Key, by audit.By) audit.Entry {
	return audit.New(by, is.OrganizationID, resource, string(action), is.UpdatedAt).
		Of(is.ID, is.Name).With(diff(was, is))
}

func diff(was, is *Key) map[string]audit.Change { return audit.Diff(was.view(), is.view(), "secret") }

// News is what other processes are told: was is nil for a new key.
func News(was, is *Key) control.Change {
	c := control.Change{
		Kind: control.Key, ID: is.ID, OrganizationID: is.OrganizationID, Version: is.Version,
		Gone: !is.DeletedAt.IsZero(), At: is.UpdatedAt,
	}
	seen := map[[HashLen]byte]bool{{}: true} // no secret has the zero hash
	for _, k := range []*Key{was, is} {
		if k == nil {
			continue
		}
		for _, hash := range [][HashLen]byte{k.Hash, k.OldHash} {
			if !seen[hash] {
				seen[hash] = true
				c.Refs = append(c.Refs, hex.EncodeToString(hash[:]))
			}
		}
	}
	return c
}

// view returns the fields that the audit compares, by their names on the wire.
func (k *Key) view() map[string]any {
	if k == nil {
		return nil
	}
	return map[string]any{
		"name": k.Name, "start": k.Start, "secret": hex.EncodeToString(k.Hash[:]),
		"scopes": k.Scopes, "websiteId": orNil(k.WebsiteID), "ipAllow": cidr.Format(k.IPAllow), "tags": k.Tags,
		"rateLimit": rateView(k.RateLimit), "idleExpiryDays": orNil(k.IdleExpiryDays),
		"expiresAt": instant(k.ExpiresAt), "oldSecretUntil": instant(k.OldHashUntil),
		"revokedAt": instant(k.RevokedAt), "deletedAt": instant(k.DeletedAt),
	}
}

func rateView(r RateLimit) any {
	if r == (RateLimit{}) {
		return nil
	}
	return map[string]any{"enabled": r.Enabled, "limit": r.Limit, "windowSeconds": int(r.Window / time.Second)}
}

// instant writes a time as the wire does.
func instant(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// orNil makes a zero value absent.
func orNil[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}
