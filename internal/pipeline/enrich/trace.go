package enrich

import "bytes"

// AppendTrace appends a text that names addresses, such as a browser's stack or message,
// with each URL in it brought down to what may be stored: without user, query and
// fragment, and with a masked path. The line and column behind a URL stay. What it
// appends is not longer than the text.
func (r *Rules) AppendTrace(dst, text []byte) []byte {
	from, length := len(dst), len(text)
	for {
		begin, end := findURL(text)
		if begin < 0 {
			dst = append(dst, text...)
			return dst[:from+len(cutRunes(dst[from:], length))]
		}
		dst = append(dst, text[:begin]...)
		dst = r.appendPlace(dst, text[begin:end])
		text = text[end:]
	}
}

// AppendScript is AppendTrace for the address of one script, which need not be a whole
// URL.
func (r *Rules) AppendScript(dst, address []byte) []byte {
	if begin, _ := findURL(address); begin < 0 {
		if i := bytes.IndexAny(address, "?#"); i >= 0 {
			address = address[:i]
		}
	}
	return r.AppendTrace(dst, address)
}

// findURL returns where the first URL in a text begins and ends; begin is negative
// where there is none. A browser sets off a URL by white space, and within a line by
// brackets, which may also be part of it: those at its end are not.
func findURL(text []byte) (begin, end int) {
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte("://"))
		if i < 0 {
			return -1, 0
		}
		i += from
		for begin = i; begin > from && isSchemeByte(text[begin-1]); {
			begin--
		}
		for begin < i && !isLetter(text[begin]) {
			begin++
		}
		if begin == i {
			from = i + 3
			continue
		}
		end = i + 3
		if n := bytes.IndexAny(text[end:], " \t\r\n\"'`<>"); n >= 0 {
			end += n
		} else {
			end = len(text)
		}
		return begin, i + 3 + len(bytes.TrimRight(text[i+3:end], ")],.;"))
	}
}

// appendPlace appends one URL with line and column.
func (r *Rules) appendPlace(dst, url []byte) []byte {
	url, place := cutPlace(url)
	a := split(url)
	dst = append(append(dst, a.scheme...), "://"...)
	dst = append(dst, a.host...)
	dst = r.appendMasked(dst, a.path)
	return append(dst, place...)
}

// appendMasked appends a path, as it is where nothing of it is masked.
func (r *Rules) appendMasked(dst, path []byte) []byte {
	if r == nil || len(r.masked) == 0 {
		return append(dst, path...)
	}
	normal, _ := appendPath(nil, path, MaxPathLen)
	at := len(dst)
	if dst = r.mask(dst, normal); bytes.Equal(dst[at:], normal) {
		return append(dst[:at], path...)
	}
	return dst
}

// cutPlace cuts line and column, each of which is a number behind a colon.
func cutPlace(url []byte) (rest, place []byte) {
	rest = url
	for range 2 {
		i := len(bytes.TrimRight(rest, "0123456789"))
		if i == len(rest) || i == 0 || rest[i-1] != ':' {
			break
		}
		rest = rest[:i-1]
	}
	return rest, url[len(rest):]
}
