package linkhost

import "github.com/millrace/millrace/internal/link"

// slugOf returns the slug in a path, which is decoded once; false where it can be none, so
// that nobody has to look for it.
func slugOf(path []byte) (slug string, ok bool) {
	if len(path) == 0 || path[0] != '/' {
		return "", false
	}
	var room [link.MaxSlugLen]byte
	n := 0
	for rest := path[1:]; len(rest) > 0; n++ {
		c := rest[0]
		rest = rest[1:]
		if c == '%' && len(rest) >= 2 {
			c, rest = unhex(rest[0])<<4|unhex(rest[1]), rest[2:]
		}
		if n == len(room) || !inSlug(c) {
			return "", false
		}
		room[n] = c
	}
	return string(room[:n]), n >= link.MinSlugLen
}

// unhex returns the value of a digit; one of what is none makes no letter of a slug.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 0xff
}

func inSlug(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}
