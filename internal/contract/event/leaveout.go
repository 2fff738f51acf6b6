package event

import (
	"encoding/json"
	"unicode/utf8"
)

// unread reports whether a rule is one that valid JSON can break and a Scanner ends at.
func (r Rule) unread() bool {
	return r == RuleDuplicateKey || r == RuleNumberRange || r == RuleTooDeep
}

// behind returns the position behind an event at which the scanner has ended by a rule,
// where the others of the body do not end with it; -1 where they do, since what stands
// there is no JSON. Only such an event is read twice.
func (d *Decoder) behind(rule Rule) int {
	if !d.each || !rule.unread() {
		return -1
	}
	end := elementEnd(d.scan.body, d.from)
	if text := d.scan.body[d.from:end]; !utf8.Valid(text) || !json.Valid(text) {
		return -1
	}
	return end
}

// elementEnd returns where an element of an array ends that begins at i: at the comma or
// bracket that stands in none of its texts, arrays and objects. What is no JSON ends
// anywhere.
func elementEnd(b []byte, i int) int {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = closingQuote(b, i+1)
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return len(b)
}

// leaveOut rejects the event that the scanner has ended in, with what was read of it,
// and goes on at end.
func (d *Decoder) leaveOut(p Problem, end int) int {
	d.scan.keys.closeAll()
	if len(d.events) < d.seen { // it is no object
		d.next(end)
	}
	d.events[len(d.events)-1].Rejected = true
	if len(d.problems) < d.most {
		d.problems = append(d.problems, p)
	}
	return d.bounded(end)
}
