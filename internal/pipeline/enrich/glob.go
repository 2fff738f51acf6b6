package enrich

import "bytes"

// glob is a segment of a pattern with stars among other characters.
type glob struct {
	at    bits
	parts [][]byte // what stands between the stars, at least two
}

func newGlob(segment []byte, at bits) glob {
	return glob{at: at, parts: bytes.Split(bytes.Clone(segment), []byte{'*'})}
}

// match finds each part at its first place after the one before it, which is
// enough: a star takes whatever is between.
func (g *glob) match(segment []byte) bool {
	first, last := g.parts[0], g.parts[len(g.parts)-1]
	if len(segment) < len(first)+len(last) || !bytes.HasPrefix(segment, first) || !bytes.HasSuffix(segment, last) {
		return false
	}
	segment = segment[len(first) : len(segment)-len(last)]
	for _, part := range g.parts[1 : len(g.parts)-1] {
		i := bytes.Index(segment, part)
		if i < 0 {
			return false
		}
		segment = segment[i+len(part):]
	}
	return true
}
