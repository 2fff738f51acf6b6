package rpc

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// maxNumberLen is how many bytes a number may have: enough for whatever a float64 can be, without
// an exponent.
const maxNumberLen = 400

// settled returns a decoded value with its numbers as handlers see them: with the digits that were
// sent, but for integers such as 1.0 and 1e2, which become 1 and 100, since encoding/json reads no
// int from those. Lists and objects are changed in place. A number that is too long, too large or
// too small for a float64 is a Parse error: to compare it exactly could take any amount of memory.
func settled(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		return number64(v)
	case []any:
		for i := range v {
			if v[i], err = settled(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range v {
			if v[name], err = settled(v[name]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// number64 returns a number as it was sent, or as float64 where that is an integer.
func number64(n json.Number) (any, error) {
	const exact = 1 << 53 // up to which all integers are float64s
	text := n.String()
	f, err := n.Float64()
	digits, _, _ := strings.Cut(strings.ToLower(text), "e")
	if err != nil || len(text) > maxNumberLen || f == 0 && strings.ContainsAny(digits, "123456789") {
		return nil, &apierr.Error{Code: apierr.Parse, Message: "Request body contains a number out of range", Err: err}
	}
	if strings.ContainsAny(text, ".eE") && math.Abs(f) <= exact && (f == 0 || isInteger(text)) {
		return f, nil
	}
	return n, nil
}

func isInteger(number string) bool {
	is, ok := new(big.Rat).SetString(number)
	return ok && is.IsInt()
}
