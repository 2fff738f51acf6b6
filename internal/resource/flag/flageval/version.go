package flageval

import "strings"

// version is a number of semantic versioning (semver.org, 2.0.0). Parts that are missing
// are zero; what stands after a + counts for nothing.
type version struct {
	numbers [3]uint64
	pre     string // the dotted identifiers of a prerelease; empty for a release
}

// parseVersion reads a version, with or without a v in front.
func parseVersion(s string) (v version, ok bool) {
	s = strings.TrimPrefix(s, "v")
	s, build, built := strings.Cut(s, "+")
	if built && !identifiers(build) {
		return v, false
	}
	s, pre, has := strings.Cut(s, "-")
	if has && !identifiers(pre) {
		return v, false
	}
	v.pre = pre
	for i := range v.numbers {
		part, rest, more := strings.Cut(s, ".")
		if v.numbers[i], ok = parseNumber(part); !ok {
			return v, false
		}
		if s = rest; !more {
			return v, true
		}
	}
	return v, false
}

// identifiers reports whether s is identifiers with dots in between.
func identifiers(s string) bool {
	for more := true; more; {
		var id string
		if id, s, more = strings.Cut(s, "."); id == "" {
			return false
		}
		for i := range len(id) {
			if c := id[i]; c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
				return false
			}
		}
	}
	return true
}

// parseNumber reads up to 18 decimal digits.
func parseNumber(s string) (n uint64, ok bool) {
	if s == "" || len(s) > 18 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + uint64(s[i]-'0')
	}
	return n, true
}

// compare returns -1, 0 or 1: a prerelease comes before its release.
func (v *version) compare(w *version) int {
	for i, n := range v.numbers {
		if m := w.numbers[i]; n != m {
			return sign(n < m)
		}
	}
	switch {
	case v.pre == w.pre:
		return 0
	case v.pre == "" || w.pre == "":
		return sign(v.pre != "")
	}
	return comparePre(v.pre, w.pre)
}

// comparePre compares the identifiers of prereleases one by one: numbers by value, before
// texts, which go by their bytes; the longer list comes later.
func comparePre(a, b string) int {
	for {
		x, restA, moreA := strings.Cut(a, ".")
		y, restB, moreB := strings.Cut(b, ".")
		if c := compareIdentifier(x, y); c != 0 {
			return c
		}
		if !moreA || !moreB {
			if moreA == moreB {
				return 0
			}
			return sign(!moreA)
		}
		a, b = restA, restB
	}
}

func compareIdentifier(x, y string) int {
	n, isN := parseNumber(x)
	m, isM := parseNumber(y)
	switch {
	case isN && isM:
		if n == m {
			return 0
		}
		return sign(n < m)
	case isN != isM:
		return sign(isN)
	}
	return strings.Compare(x, y)
}

// sign is -1 for less and 1 for not less.
func sign(less bool) int {
	if less {
		return -1
	}
	return 1
}
