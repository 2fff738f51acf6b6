package enrich

import (
	"bytes"
	"strings"
)

// Rules are a website's rules about paths, compiled. A nil Rules has none. It is
// safe for concurrent use.
//
// In a pattern the segment "*" stands for any one segment and "**" for any
// number of them, none included; a star among other characters stands for any
// run of characters within its segment. Patterns are compared with the whole
// path in its normal form, case matters, and the route behind "#" of a page that
// keeps it there is a path of its own. A comparison takes time in proportion to
// the length of the path, whatever the pattern.
type Rules struct {
	excluded []pattern
	masked   []pattern
	params   map[string]struct{}
}

// Compile makes rules of a website's settings. Entries that the settings would
// reject never match.
func Compile(excluded, masked, params []string) *Rules {
	r := &Rules{excluded: compileAll(excluded), masked: compileAll(masked)}
	for _, name := range params {
		if isCampaignParam([]byte(name)) {
			continue // what campaigns are told by stands in columns of its own
		}
		if r.params == nil {
			r.params = map[string]struct{}{}
		}
		r.params[string(appendEscaped(nil, []byte(name), inQuery))] = struct{}{}
	}
	return r
}

// Excluded reports whether events of a path in normal form are not counted.
func (r *Rules) Excluded(path []byte) bool {
	if r == nil || len(r.excluded) == 0 {
		return false
	}
	plain, _, route := splitPath(path)
	for i := range r.excluded {
		if r.excluded[i].match(plain) || len(route) > 0 && r.excluded[i].match(route) {
			return true
		}
	}
	return false
}

// Mask appends a path in normal form, with each segment that is under a star of
// one of the patterns replaced by a star.
func (r *Rules) Mask(dst, path []byte) []byte {
	if r == nil || len(r.masked) == 0 {
		return append(dst, path...)
	}
	plain, query, route := splitPath(path)
	dst = append(r.mask(dst, plain), query...)
	if len(route) > 0 {
		// The route's mark, such as "#", stands before its first slash.
		dst = append(dst, path[len(plain)+len(query):len(path)-len(route)]...)
		dst = r.mask(dst, route)
	}
	return dst
}

// splitPath takes a path in normal form apart: the path, the query with its "?", and
// the route behind "#", from its first slash on.
func splitPath(path []byte) (plain, query, route []byte) {
	plain = path
	if i := bytes.IndexByte(plain, '#'); i >= 0 {
		plain, route = path[:i], path[i:]
		route = route[max(0, bytes.IndexByte(route, '/')):]
	}
	if i := bytes.IndexByte(plain, '?'); i >= 0 {
		plain, query = plain[:i], plain[i:]
	}
	return plain, query, route
}

// mask masks one path without query and route.
func (r *Rules) mask(dst, path []byte) []byte {
	var under bits // the segments that are under a star
	for i := range r.masked {
		under |= r.masked[i].stars(path)
	}
	if under == 0 {
		return append(dst, path...)
	}
	i := 0
	for segment := range segments(path) {
		if dst = append(dst, '/'); under.has(i) {
			segment = []byte{'*'}
		}
		dst = append(dst, segment...)
		i++
	}
	return dst
}

// bits is a set of segments, or of the states between them.
type bits uint64

func (b bits) has(i int) bool { return b>>i&1 == 1 }

// pattern is a path with stars, as a machine whose states are how many of the
// pattern's segments are used up. All states that a path can be in are kept at
// once, as bits, so that no choice of a star is ever tried twice.
type pattern struct {
	n     int             // segments, at most MaxSegments
	texts map[string]bits // the segments without a star, by their text
	globs []glob          // those with a star among other characters
	any   bits            // those that are "*"
	deep  bits            // those that are "**"; two never follow each other
	wild  bits            // all with a star
}

func compileAll(texts []string) []pattern {
	var list []pattern
	for _, text := range texts {
		if p, ok := compile(text); ok {
			list = append(list, p)
		}
	}
	return list
}

func compile(text string) (pattern, bool) {
	if !strings.HasPrefix(text, "/") || strings.ContainsAny(text, "?#") {
		return pattern{}, false
	}
	p := pattern{texts: map[string]bits{}}
	normal, whole := appendPath(nil, []byte(text), MaxPathLen)
	for segment := range segments(normal) {
		here := bits(1) << p.n
		switch {
		case string(segment) == "**":
			if p.n > 0 && p.deep.has(p.n-1) {
				continue
			}
			p.deep |= here
		case string(segment) == "*":
			p.any |= here
		case bytes.IndexByte(segment, '*') >= 0:
			p.globs = append(p.globs, newGlob(segment, here))
			p.wild |= here
		default:
			p.texts[string(segment)] |= here
		}
		p.n++
	}
	p.wild |= p.any | p.deep
	return p, whole
}

// segments yields the segments of a path in normal form; "/" has none.
func segments(path []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		if len(path) < 2 || path[0] != '/' {
			return
		}
		for rest := path[1:]; ; {
			segment, after, more := bytes.Cut(rest, []byte{'/'})
			if !yield(segment) || !more {
				return
			}
			rest = after
		}
	}
}

// skip adds the states that are reached by a "**" that stands for nothing.
func (p *pattern) skip(states bits) bits { return states | states&p.deep<<1 }

// fits returns the segments of the pattern that a segment of a path fits, but
// for "**".
func (p *pattern) fits(segment []byte) bits {
	fit := p.any | p.texts[string(segment)]
	for i := range p.globs {
		if p.globs[i].match(segment) {
			fit |= p.globs[i].at
		}
	}
	return fit
}

// step returns the states after one more segment.
func (p *pattern) step(states bits, segment []byte) bits {
	return p.skip(states&p.fits(segment)<<1 | states&p.deep)
}

// match reports whether the pattern fits a path without query and route.
func (p *pattern) match(path []byte) bool {
	if len(path) == 0 || path[0] != '/' {
		return false
	}
	states := p.skip(1)
	for segment := range segments(path) {
		if states = p.step(states, segment); states == 0 {
			return false
		}
	}
	return states.has(p.n)
}

// stars returns the segments of the path that are under a star; none when the
// pattern does not fit.
func (p *pattern) stars(path []byte) (under bits) {
	if p.wild == 0 || !p.match(path) {
		return 0
	}
	var states [MaxSegments + 1]bits
	i := 0
	states[0] = p.skip(1)
	for segment := range segments(path) {
		states[i+1] = p.step(states[i], segment)
		i++
	}
	// Back from the end, along one of the ways that lead there.
	for j := p.n; i > 0; {
		switch {
		case j > 0 && p.deep.has(j-1) && states[i].has(j-1): // where a "**" ended
			j--
			continue
		case p.deep.has(j) && states[i-1].has(j): // within a "**"
		default:
			j--
		}
		if i--; p.wild.has(j) {
			under |= 1 << i
		}
	}
	return under
}
