package analytics

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"unicode/utf8"
)

// Bounds of a regular expression. The size is about what the server's program for
// it takes: repetitions are written out, and a class of characters costs as its
// ranges do.
const (
	MaxRegexLen  = 512    // code points
	MaxRegexSize = 10_000 // steps
)

// rangeCost is how many steps a range of characters takes at most, one for each
// byte of UTF-8.
const rangeCost = 4

var errRegexSize = fmt.Errorf("it is too complex: written out it has more than %d steps", MaxRegexSize)

// checkRegex tells what is wrong with a regular expression. The syntax of package
// regexp is that of the server's RE2, and so is what it refuses: neither ever takes
// more than time in proportion to what it reads.
func checkRegex(pattern string) error {
	if n := utf8.RuneCountInString(pattern); n > MaxRegexLen {
		return fmt.Errorf("it has %d characters; at most %d are allowed", n, MaxRegexLen)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl|syntax.DotNL)
	if e := (*syntax.Error)(nil); errors.As(err, &e) {
		return fmt.Errorf("%s: %s", e.Code, echo(e.Expr))
	} else if err != nil {
		return fmt.Errorf("reading it: %w", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return fmt.Errorf("compiling it: %w", err)
	}
	size := 0
	for i := range program.Inst {
		if size += max(1, len(program.Inst[i].Rune)/2*rangeCost); size > MaxRegexSize {
			return errRegexSize
		}
	}
	return nil
}
