package flageval

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// What the RE2 expressions of a definition may be compiled to, in instructions as patternSize
// counts them: a few characters, such as (?:…){1000}, can stand for hundreds of thousands, each
// of which every host that serves the flag holds in memory.
const (
	MaxPatternSize  = 1000   // of a value
	MaxPatternsSize = 10_000 // of all values of a flag or segment that differ, together
)

// pattern is a compiled expression.
type pattern struct {
	*regexp.Regexp

	size int // instructions
}

// match is a question of a request: whether a text matches an expression, whoever's it is.
type match struct{ pattern, text string }

// maxMatches is how many answers an Evaluator keeps: 160 KiB without the texts.
const maxMatches = 4096

// matched reports whether a text matches, and remembers it: many conditions may have one pattern.
func (e *Evaluator) matched(p *pattern, text string) bool {
	asked := match{p.String(), text}
	is, known := e.matches[asked]
	if known || !e.spend(p.size*(1+len(text))) {
		return is
	}
	if is = p.MatchString(text); len(e.matches) < maxMatches {
		if e.matches == nil {
			e.matches = make(map[match]bool)
		}
		e.matches[asked] = is
	}
	return is
}

// pattern is an RE2 expression as a condition has it.
func (c *condition) pattern(text string) string {
	if c.fold {
		return "(?i)" + text
	}
	return text
}

// compiled returns a compiled expression: the same one for each condition of a flag that has it,
// in whatever environment.
func (c *compiler) compiled(text string) (*pattern, error) {
	if p := c.patterns[text]; p != nil {
		return p, nil
	}
	is, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, badPattern(text, err)
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, badPattern(text, err)
	}
	if c.patterns == nil {
		c.patterns = make(map[string]*pattern)
	}
	c.patterns[text] = &pattern{compiled, patternSize(is)}
	return c.patterns[text], nil
}

func badPattern(text string, err error) error {
	return fmt.Errorf("must be an RE2 expression, not %q: %w", text, err)
}

// pattern notes an expression that is none, or too large by itself or with those before it. None
// of them is compiled: to find out costs no more than to read it.
func (c *checker) pattern(path, text string) {
	if c.patterns[text] {
		return
	}
	is, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		c.add(path, "invalid_value", "%s", badPattern(text, err))
		return
	}
	size := patternSize(is)
	if size > MaxPatternSize {
		c.add(path, "too_large", "is too complex: it compiles to %d instructions; at most %d are allowed", size,
			MaxPatternSize)
		return
	}
	if c.patterns == nil {
		c.patterns = make(map[string]bool)
	}
	c.patterns[text] = true
	was := c.patternsSize
	if c.patternsSize += size; was <= MaxPatternsSize && c.patternsSize > MaxPatternsSize {
		c.add(path, "too_large",
			"and the expressions before it compile to more than %d instructions", MaxPatternsSize)
	}
}

// patternSize is how many instructions an expression is compiled to at most. What a class of
// characters lists counts too, by the memory that it takes.
func patternSize(is *syntax.Regexp) int {
	const frame = 2 // to begin with, and the match at the end
	return frame + instructions(is)
}

func instructions(is *syntax.Regexp) int {
	const runesOfOne = 10 // that take as much memory as an instruction
	within := 0
	for _, sub := range is.Sub {
		within += instructions(sub)
	}
	switch is.Op {
	case syntax.OpLiteral:
		return max(1, len(is.Rune))
	case syntax.OpCharClass:
		return 1 + len(is.Rune)/runesOfOne
	case syntax.OpConcat:
		return max(1, within)
	case syntax.OpAlternate:
		return within + len(is.Sub)
	case syntax.OpRepeat:
		return repeated(is, within)
	default: // two for groups, and for loops around what may be empty
		return within + 2
	}
}

// repeated is a repetition of what takes so many instructions.
func repeated(is *syntax.Regexp, each int) int {
	if is.Max < 0 { // the last one is a loop
		return max(1, is.Min)*each + 2
	}
	return max(1, is.Max*each+is.Max-is.Min)
}
