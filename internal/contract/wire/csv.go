package wire

import "bytes"

// CSVLineEnd ends a line of CSV, as RFC 4180 has it.
const CSVLineEnd = "\r\n"

// AppendCSV appends a value as RFC 4180 has it, in quotes where it needs them. The package of
// that name in the standard library would change line breaks within values, and leave out a
// line whose only value is empty, which is for the caller to quote here too.
func AppendCSV(dst, text []byte) []byte {
	if n := len(text); n == 0 || !bytes.ContainsAny(text, ",\"\r\n") && text[0] != ' ' && text[n-1] != ' ' {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for {
		i := bytes.IndexByte(text, '"')
		if i < 0 {
			break
		}
		dst = append(append(dst, text[:i+1]...), '"')
		text = text[i+1:]
	}
	return append(append(dst, text...), '"')
}
