// Package click tells of the clicks of short links.
package click

import (
	"net/netip"
	"time"

	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/resource/link"
)

// Click is a redirect, or a preview, that a GET was answered with. It, its link and its
// byte slices are valid only while somebody takes it; the texts of the link may be kept.
// Address and user agent are known nowhere else.
type Click struct {
	Link      *link.Served
	At        time.Time
	Addr      netip.Addr
	UserAgent []byte
	Visitor   enrich.Visitor // of both
	Referrer  []byte         // the header, as it came
	Languages []byte         // the header Accept-Language, as it came
	Query     []byte         // of the short address, as it came, without its question mark
	RuleID    string         // of the rule that chose the destination; empty for none
	VariantID string         // of the variant; empty for none
	// Bot says why this is no click of a person: BotCrawler and so on; empty for a
	// person's.
	Bot    string
	Status int // of the response
	// RequestID names the request in the service's log; empty where it has no name.
	RequestID []byte
}

// Why a click is no person's.
const (
	BotCrawler  = "crawler"  // the user agent names a program
	BotPreview  = "preview"  // a program that shows what a link leads to
	BotPrefetch = "prefetch" // a browser that fetches what may be asked for next
)
