package ratelimit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
)

// Kind is what a caller is known by.
type Kind uint8

// The kinds of callers.
const (
	Client Kind = iota // without a credential: an address, and a website where there is one
	Key                // an API key
	User               // a signed-in user
)

// Identity is who is counted as one caller.
type Identity struct {
	Kind Kind
	// ID is the key's or the user's; of a client, the website's that it sends
	// events for, or empty.
	ID string
	// Addr is a client's address. Addresses of IPv6 that share
	// config.Limits.IPv6Prefix are one.
	Addr netip.Addr
}

// name is the identity as it stands in a store that processes share, where no client's
// address can be read: it is hashed with a salt. Ids are made by us and hold no colon.
func (i Identity) name(salt []byte) string {
	switch i.Kind {
	case Key:
		return "key:" + i.ID
	case User:
		return "user:" + i.ID
	case Client:
	}
	mac := hmac.New(sha256.New, salt)
	addr := i.Addr.As16()
	mac.Write(addr[:])
	var sum [sha256.Size]byte
	return "client:" + i.ID + ":" + hex.EncodeToString(mac.Sum(sum[:0])[:16])
}

// network returns the address that stands for all those of one caller.
func network(a netip.Addr, ipv6Prefix int) netip.Addr {
	if !a.Is6() {
		return a
	}
	p, err := a.WithZone("").Prefix(ipv6Prefix)
	if err != nil { // not for a length within 128
		return a
	}
	return p.Addr()
}
