package apikey

import (
	"encoding/hex"
	"time"

	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/platform/cidr"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// The actions that only keys have.
const (
	Rotated managed.Action = "rotated"
	Ended   managed.Action = "revoked"
)

// Noun is how keys are told of: that a secret changed is told, the secret is not.
var Noun = managed.Noun[*Key]{
	Type: "apikey", Kind: control.Key, View: (*Key).view, Secret: []string{"secret"}, Refs: (*Key).refs,
}

// refs are the hashes of the key's secrets.
func (k *Key) refs() (hashes []string) {
	for _, hash := range [][HashLen]byte{k.Hash, k.OldHash} {
		if hash != ([HashLen]byte{}) { // no secret has the zero hash
			hashes = append(hashes, hex.EncodeToString(hash[:]))
		}
	}
	return hashes
}

// view returns the fields that the audit compares, by their names on the wire.
func (k *Key) view() map[string]any {
	return map[string]any{
		"name": k.Name, "start": k.Start, "secret": hex.EncodeToString(k.Hash[:]),
		"scopes": k.Scopes, "websiteId": wire.OrNull(k.WebsiteID), "ipAllow": cidr.Format(k.IPAllow), "tags": k.Tags,
		"rateLimit": rateView(k.RateLimit), "idleExpiryDays": wire.OrNull(k.IdleExpiryDays),
		"expiresAt": wire.Time(k.ExpiresAt), "oldSecretUntil": wire.Time(k.OldHashUntil),
		"revokedAt": wire.Time(k.RevokedAt), "deletedAt": wire.Time(k.DeletedAt),
	}
}

func rateView(r RateLimit) any {
	if r == (RateLimit{}) {
		return nil
	}
	return map[string]any{"enabled": r.Enabled, "limit": r.Limit, "windowSeconds": int(r.Window / time.Second)}
}
