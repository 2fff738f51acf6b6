package flageval

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
)

// Operands are the values of a condition: texts, numbers, which are float64, and booleans. A
// json.Number among them is a number that was read and is another one as float64; Check rejects
// it.
type Operands []any

// UnmarshalJSON reads the values.
func (o *Operands) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var all []any
	if err := d.Decode(&all); err != nil {
		return err
	}
	for i, v := range all {
		if n, is := v.(json.Number); is {
			all[i] = held(n)
		}
	}
	*o = all
	return nil
}

// held returns a number as float64, or itself where that has other digits.
func held(n json.Number) any {
	const always = 15 // digits that are held whatever they are
	f, err := n.Float64()
	if err != nil || len(n) > always && f != 0 && !digitsOf(n, f) {
		return n
	}
	return f
}

// digitsOf reports whether a float64, which is not zero, is written with the digits of a number.
func digitsOf(n json.Number, f float64) bool {
	is, ok := new(big.Rat).SetString(n.String())
	as, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return ok && is.Cmp(as) == 0
}

// inexact reports whether a value is a number that no float64 holds.
func inexact(v any) bool {
	_, is := v.(json.Number)
	return is
}
