package event

import "strconv"

// surelyFinite is a count of digits that no float64 overflows on: the largest
// one has 309.
const surelyFinite = 300

// Number returns the position after the number at i.
func (s *Scanner) Number(i int) int {
	b := s.body
	from := i
	if i < len(b) && b[i]-'1' < 9 { // the usual case: a few digits and no more
		if end := digits(b, i+1); end < len(b) && end-i < surelyFinite && (b[end] == ',' || b[end] == '}') {
			return end
		}
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	case i < len(b) && isDigit(b[i]):
		i = digits(b, i)
	default:
		return s.fail(i, RuleMalformed)
	}
	if i < len(b) && b[i] == '.' {
		if i++; digits(b, i) == i {
			return s.fail(i, RuleMalformed)
		}
		i = digits(b, i)
	}
	finite := i-from < surelyFinite
	if i < len(b) && b[i]|0x20 == 'e' {
		finite = false
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if digits(b, i) == i {
			return s.fail(i, RuleMalformed)
		}
		i = digits(b, i)
	}
	if !finite {
		if _, err := strconv.ParseFloat(string(b[from:i]), 64); err != nil {
			return s.fail(from, RuleNumberRange)
		}
	}
	return i
}

func isDigit(c byte) bool { return c-'0' <= 9 }

func digits(b []byte, i int) int {
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}
