package event

import "unicode/utf8"

// PeekWebsiteID returns the websiteId of the body's first event, read before
// anything is validated: the client id is a credential, and who sends must be
// known before the rest is judged. Whatever stands before it must be JSON, though keys
// may occur twice, which Decode finds: no room is claimed yet in which they could be
// remembered. What stands behind it is not read. The result is nil when there is none, when it is
// empty or no string, and when it is longer than MaxWebsiteIDLen. It belongs to
// the Decoder and is valid until its next call.
func (d *Decoder) PeekWebsiteID(body []byte) []byte {
	s := &d.scan
	s.Reset(body)
	s.keys.idle = true
	i, depth := s.Blank(0), 0
	if i < len(body) && body[i] == '[' {
		i, depth = s.Blank(i+1), 1
	}
	if i >= len(body) || body[i] != '{' {
		return nil
	}
	i, more := s.First(i, '}')
	for more && i >= 0 {
		var key []byte
		if key, i = s.Key(i); i < 0 {
			return nil
		}
		if fieldOf(key) == fieldWebsiteID {
			return s.websiteID(i)
		}
		if i = s.Skip(i, depth+1); i < 0 {
			return nil
		}
		i, more = s.Next(i, '}')
	}
	return nil
}

// longestID is how many bytes a website id has at most as it is written: 12 for two
// escapes that are one code point.
const longestID = 12 * MaxWebsiteIDLen

func (s *Scanner) websiteID(i int) []byte {
	if i >= len(s.body) || s.body[i] != '"' {
		return nil
	}
	id, next := s.Text(i)
	if next < 0 || len(id) == 0 || utf8.RuneCount(id) > MaxWebsiteIDLen {
		return nil
	}
	return id
}
