package analytics

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
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

var errRegexSize = fmt.Errorf("it is too complex: it expands to more than %d steps", MaxRegexSize)

// checkRegex tells what is wrong with a regular expression. The syntax of package
// regexp is that of the server's RE2 but for names of classes, and so is what it refuses:
// neither ever takes more than time in proportion to what it reads.
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
	if class := unknownClass(pattern); class != "" {
		return fmt.Errorf("%s: %s", syntax.ErrInvalidCharRange, echo(class))
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

// unknownClass returns the first class of characters of a good expression that package
// regexp knows by a name which the server does not: it takes long names and any case.
func unknownClass(pattern string) string {
	for {
		_, escape, found := strings.Cut(pattern, `\`)
		if !found || escape == "" {
			return ""
		}
		_, size := utf8.DecodeRuneInString(escape)
		pattern = escape[size:]
		switch escape[0] {
		case 'Q': // what follows is meant as it is
			_, pattern, _ = strings.Cut(pattern, `\E`)
		case 'p', 'P':
			if name := className(pattern); !serverKnows(strings.TrimPrefix(name, "^")) {
				return `\` + escape[:1] + "{" + name + "}"
			}
		}
	}
}

// className is the name of a class, from after its \p: a letter, or in braces.
func className(text string) string {
	if inside, ok := strings.CutPrefix(text, "{"); ok {
		name, _, _ := strings.Cut(inside, "}")
		return name
	}
	return text[:min(1, len(text))]
}

// serverKnows reports whether RE2 has a class of that name: scripts and general categories
// as Unicode writes them, but for the two that are no table of its.
func serverKnows(class string) bool {
	if class == "Any" {
		return true
	}
	_, script := unicode.Scripts[class]
	_, category := unicode.Categories[class]
	return script || category && class != "Cn" && class != "LC"
}
