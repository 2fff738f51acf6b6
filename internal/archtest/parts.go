package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// retiredParts are words that no name of ours is made of any more, be it of a file or of what code
// declares.
var retiredParts = map[string]string{
	"answer": "response or result", "answers": "responses or results", "beat": "heartbeat", "beats": "heartbeats",
	"desk": "service", "floor": "low watermark", "floors": "low watermarks", "frozen": "sealed",
	"keeper": "service or store", "lane": "pipeline", "lanes": "pipelines", "refusal": "rejection",
	"refusals": "rejections", "refuse": "reject", "refused": "rejected", "refusef": "rejectf",
	"sighting": "observation", "sightings": "observations", "stuck": "halted", "witness": "observer",
}

// wordings are names that have such a word for a reason.
var wordings = []struct{ where, name, why string }{
	{"internal/adapter/domaincheck", "answer", "what a name server says, as the RFCs of DNS call it"},
	{"internal/adapter/domaincheck", "answers", "the same"},
	{"internal/pipeline/sink", "ClassKeeper", "ClickHouse Keeper"},
	{"internal/platform/config", "Lanes", "the setting sink.lanes, which keeps its name"},
	{"internal/tenant/org", "Lanes", "Argon2's"},
	{"internal/testkit/nameserver", "answer", "as in domaincheck"},
	{"tests/fault/faultproxy", "Refuse", "a connection is refused, as in ECONNREFUSED"},
}

// retiredMessages finds what errors, the log and the doctor do not say any more.
var retiredMessages = regexp.MustCompile(`(?i)\b(a beat|(the|an) answer|answers? of|lanes?|refusals?|` +
	`(is|are|was|were) refused|stands? still|stuck)\b|'s answer\b`)

// tells are the functions that make a message of a text.
var tells = []string{
	"New", "Errorf", "Reject", "rejectf", "LogAttrs", "Debug", "Info", "Warn", "Error", "fail", "warn", "ok", "well",
}

// CheckFileName returns the retired words that the name of a file is made of.
func CheckFileName(name string) []string {
	var out []string
	words := strings.FieldsFunc(path.Base(name), func(r rune) bool { return !unicode.IsLetter(r) })
	for _, word := range words {
		if instead, ok := retiredParts[strings.ToLower(word)]; ok {
			out = append(out, fmt.Sprintf("%s has %q in its name: it is %s", name, word, instead))
		}
	}
	return out
}

// CheckParts returns the names that a file of code declares with a retired word in them, and
// what it says in such words to those who operate us. Tests are named by sentences, which may have
// any word, and tell operators nothing.
func CheckParts(name, source string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		for _, declared := range declaredBy(n) {
			out = append(out, checkName(name, declared)...)
		}
		if call, ok := n.(*ast.CallExpr); ok && !strings.HasSuffix(name, "_test.go") {
			out = append(out, checkMessage(name, call)...)
		}
		return true
	})
	return out, nil
}

// declaredBy returns the names that a piece of code declares.
func declaredBy(n ast.Node) (names []*ast.Ident) {
	var written []ast.Expr
	switch n := n.(type) {
	case *ast.FuncDecl:
		if !strings.HasPrefix(n.Name.Name, "Test") && !strings.HasPrefix(n.Name.Name, "Fuzz") {
			names = append(names, n.Name)
		}
	case *ast.TypeSpec:
		names = append(names, n.Name)
	case *ast.ValueSpec:
		names = n.Names
	case *ast.Field:
		names = n.Names
	case *ast.RangeStmt:
		written = []ast.Expr{n.Key, n.Value}
	case *ast.AssignStmt:
		written = n.Lhs
	}
	for _, at := range written {
		if name, ok := at.(*ast.Ident); ok {
			names = append(names, name)
		}
	}
	return names
}

func checkName(file string, declared *ast.Ident) []string {
	folder := path.Dir(file)
	for _, part := range partsOf(declared.Name) {
		instead, retired := retiredParts[part]
		if retired && !slices.ContainsFunc(wordings, func(w struct{ where, name, why string }) bool {
			return w.where == folder && w.name == declared.Name
		}) {
			return []string{fmt.Sprintf("%s calls something %s: it is %s", file, declared.Name, instead)}
		}
	}
	return nil
}

// partsOf splits a name such as HTTPPort at its capitals, into http and port.
func partsOf(name string) []string {
	var parts []string
	runes, begin := []rune(name), 0
	for i := 1; i < len(runes); i++ {
		capital := unicode.IsUpper(runes[i])
		if capital && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			parts, begin = append(parts, strings.ToLower(string(runes[begin:i]))), i
		}
	}
	return append(parts, strings.ToLower(string(runes[begin:])))
}

// checkMessage looks at the texts that a call makes a message of.
func checkMessage(name string, call *ast.CallExpr) []string {
	if !slices.Contains(tells, called(call)) {
		return nil
	}
	var out []string
	for _, arg := range call.Args {
		ast.Inspect(arg, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if ok && text.Kind == token.STRING && retiredMessages.MatchString(text.Value) {
				out = append(out, fmt.Sprintf("%s says %q in %s", name, retiredMessages.FindString(text.Value), text.Value))
			}
			_, nested := n.(*ast.CallExpr)
			return !nested
		})
	}
	return out
}

// called returns the name of the function or method that is called.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
