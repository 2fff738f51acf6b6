package record

import (
	"strconv"

	"github.com/millrace/millrace/internal/contract/wire"
)

// Click is what the records of clicks have besides: of which link it is, and what became
// of it. What is known of the visitor stands in Web, but for the hash.
type Click struct {
	Link      []byte // "link": id; equals the record key
	Visitor   []byte // "visitor": hash that is the visitor's for a day and a link; absent without a salt
	RuleID    []byte // "ruleId": the rule that chose the destination; absent for none
	VariantID []byte // "variantId": the variant; absent for none
	BotReason []byte // "botReason": why it is no person's; absent for a person's
	IsQR      bool   // "isQr": by the QR code; absent for false
	IsBot     bool   // "isBot": no person's; absent for false
	Status    int    // "status": of the response
}

// The fields of Click, which stand behind those of Web.
const (
	linkField field = firstClick + iota
	visitorField
	ruleIDField
	variantIDField
	botReasonField
	isQRField
	isBotField
	statusField

	endOfClick
)

const numClickFields = endOfClick - firstClick

// clickFieldNames are their names in the JSON.
var clickFieldNames = [numClickFields]string{
	"link", "visitor", "ruleId", "variantId", "botReason", "isQr", "isBot", "status",
}

// text returns where the string of a field is kept; nil for a field of another type.
func (c *Click) text(f field) *[]byte {
	switch f {
	case linkField:
		return &c.Link
	case visitorField:
		return &c.Visitor
	case ruleIDField:
		return &c.RuleID
	case variantIDField:
		return &c.VariantID
	case botReasonField:
		return &c.BotReason
	default:
		return nil
	}
}

// appendClick appends what there is of a click's fields.
func appendClick(dst []byte, c *Click) []byte {
	for f := linkField; f <= botReasonField; f++ {
		if text := *c.text(f); len(text) > 0 {
			dst = wire.AppendText(append(dst, webMembers[f-firstText]...), text)
		}
	}
	if c.IsQR {
		dst = append(dst, `,"isQr":true`...)
	}
	if c.IsBot {
		dst = append(dst, `,"isBot":true`...)
	}
	return strconv.AppendInt(append(dst, `,"status":`...), int64(c.Status), 10)
}

// ClickRecord is the record of one click, in memory of its own that serves one after
// another. The zero value is ready; it is for one goroutine at a time.
type ClickRecord struct{ single }

// Set makes the record of a click, of which nothing is kept. e has what all events have,
// but for type, name and owner, and its Click. requestID names the request that it came
// by; empty takes the id of the click.
func (r *ClickRecord) Set(e *Event, requestID []byte) {
	k := &kinds[clicked]
	e.Type, e.Name, e.Owner = k.typeOf, k.typeOf, e.Click.Link
	r.set(k, e, requestID)
}
