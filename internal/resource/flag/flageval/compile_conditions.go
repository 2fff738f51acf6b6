package flageval

import (
	"fmt"
	"net/netip"
	"strconv"
	"time"
)

func (c *compiler) conditions(is *Conditions) (*conditions, error) {
	made := &conditions{any: len(is.All) == 0}
	list := is.All
	if made.any {
		list = is.Any
	}
	for i := range list {
		one, err := c.condition(&list[i])
		if err != nil {
			return nil, fmt.Errorf("conditions[%d]: %w", i, err)
		}
		made.list = append(made.list, one)
	}
	return made, nil
}

func (c *compiler) condition(is *Condition) (made condition, err error) {
	if is.nested() {
		made.within, err = c.conditions(&is.Conditions)
		return made, err
	}
	made = condition{op: operatorOf(is.Op), attr: is.Attribute, negate: is.Negate, operands: len(is.Values)}
	made.fold = is.CaseInsensitive || is.Op == OpCountry
	if made.op == nil {
		return made, fmt.Errorf("unknown operator %q", is.Op)
	}
	if made.attr == "" {
		made.attr = made.op.attr
	}
	made.slot = c.set.slot(made.attr)
	for _, v := range is.Values {
		if err := c.operand(&made, ValueOf(v)); err != nil {
			return made, err
		}
	}
	if made.op.operand != nothing && len(is.Values) == 0 || made.op.most > 0 && len(is.Values) > made.op.most {
		return made, fmt.Errorf("operator %s has %d values", is.Op, len(is.Values))
	}
	return made, nil
}

// operand adds one value to a condition.
func (c *compiler) operand(made *condition, v Value) (err error) {
	if want := kindsOf[made.op.operand]; want != noValue && v.kind != want || !v.simple() {
		return fmt.Errorf("has the wrong type for the operator %s", made.op.name)
	}
	switch made.op.operand {
	case patterns:
		p, err := c.compiled(made.pattern(v.text))
		if err != nil {
			return err
		}
		made.patterns = append(made.patterns, p)
	case networks:
		err = made.addNetwork(v.text)
	case versions:
		is, ok := parseVersion(v.text)
		if !ok {
			return fmt.Errorf("must be a semantic version such as 1.4.0, not %q", v.text)
		}
		made.versions = append(made.versions, is)
	case dates:
		err = made.addDate(v.text)
	case segments:
		c.segmented = true
		found := c.set.segment(c.scope, v.text)
		if found == nil {
			made.lacks = true
			break
		}
		made.segments = append(made.segments, found)
	default:
		made.values = append(made.values, v)
		if made.fold {
			made.folded = append(made.folded, foldedOperand(&v))
		}
	}
	return err
}

// foldedOperand returns a text without case; nil for other values.
func foldedOperand(v *Value) []byte {
	if v.kind != textValue {
		return nil
	}
	return appendFolded(make([]byte, 0, len(v.text)), v.text)
}

// kindsOf is what the values of an operand are; none stands for all of them.
var kindsOf = map[operand]valueKind{
	texts: textValue, patterns: textValue, numbers: numberValue, dates: textValue, versions: textValue,
	networks: textValue, segments: textValue,
}

func (c *condition) addNetwork(text string) error {
	if n, err := netip.ParsePrefix(text); err == nil {
		c.networks = append(c.networks, unmapped(n).Masked())
		return nil
	}
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return fmt.Errorf("must be an IP address or a CIDR range, not %q", text)
	}
	addr = addr.Unmap()
	c.networks = append(c.networks, netip.PrefixFrom(addr, addr.BitLen()))
	return nil
}

// unmapped is a network as addresses are held against it: those of IPv4 by themselves, however
// they were written.
func unmapped(n netip.Prefix) netip.Prefix {
	const mapped = 96 // bits that say that the others are of IPv4
	if n.Addr().Is4In6() && n.Bits() >= mapped {
		return netip.PrefixFrom(n.Addr().Unmap(), n.Bits()-mapped)
	}
	return n
}

// units are those of times that are counted from now.
var units = map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}

func (c *condition) addDate(text string) error {
	if millis, ok := parseTime(text); ok {
		c.dates = append(c.dates, moment{millis: millis})
		return nil
	}
	if len(text) > 2 && text[0] == '-' {
		n, err := strconv.ParseUint(text[1:len(text)-1], 10, 16)
		if unit := units[text[len(text)-1]]; err == nil && unit > 0 {
			c.dates = append(c.dates, moment{millis: -int64(n) * unit.Milliseconds(), relative: true})
			return nil
		}
	}
	return fmt.Errorf("must be a time, a date or an offset such as -7d, not %q", text)
}
