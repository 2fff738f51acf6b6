package link

import (
	"bytes"
	"crypto/sha256"
	"math"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// plainly is Choose as the rules are told, without any care for what it costs.
func plainly(l *Link, f *Facts) Target {
	lower := func(all ...string) (low []string) {
		for _, s := range all {
			low = append(low, strings.ToLower(s))
		}
		return low
	}
	holds := func(c Condition) bool {
		var known []string
		values := lower(c.Values...)
		switch c.Field {
		case Time:
			return f.Now.Before(c.At) == (c.Op == Before)
		case Query:
			values = c.Values
			if f.Query != nil {
				if v, ok := f.Query(c.Name); ok {
					known = []string{v}
				}
			}
		case Language:
			for _, tag := range lower(f.Languages...) {
				for parts := strings.Split(tag, "-"); len(parts) > 0; parts = parts[:len(parts)-1] {
					known = append(known, strings.Join(parts, "-"))
				}
			}
		default:
			if v := map[string]string{
				Country: f.Country, Region: f.Region, City: f.City, Device: f.Device, OS: f.OS, Browser: f.Browser,
				ReferrerHost: f.ReferrerHost,
			}[c.Field]; v != "" {
				known = lower(v)
			}
		}
		in := slices.ContainsFunc(known, func(v string) bool { return slices.Contains(values, v) })
		return in == (c.Op == In)
	}
	for _, r := range l.Rules {
		if !slices.ContainsFunc(r.Conditions, func(c Condition) bool { return !holds(c) }) {
			return Target{URL: r.URL, RuleID: r.ID}
		}
	}
	if len(l.Variants) == 0 {
		return Target{URL: l.URL}
	}
	addr := f.Addr.Unmap()
	if addr.Is6() {
		addr = netip.PrefixFrom(addr, 64).Masked().Addr()
	}
	b := make([]byte, 16)
	if addr.IsValid() {
		a := addr.As16()
		b = a[:]
	}
	sum := sha256.Sum256(slices.Concat(l.Secret, b, f.UserAgent))
	total := 0
	for _, v := range l.Variants {
		total += v.Weight
	}
	place := new(big.Int).SetBytes(sum[:8])
	place.Mul(place, big.NewInt(int64(total))).Rsh(place, 64)
	left := int(place.Int64())
	for _, v := range l.Variants {
		if left -= v.Weight; left < 0 {
			return Target{URL: v.URL, VariantID: v.ID}
		}
	}
	return Target{}
}

// madeUp makes links and visitors of few words, so that they often fit each other.
type madeUp struct{ *rand.Rand }

func (m madeUp) of(words ...string) string { return words[m.IntN(len(words))] }

var words = map[string][]string{
	Country: {"DE", "AT"}, Region: {"Bavaria", "Tyrol"}, City: {"München", "INNSBRUCK"}, Device: {"mobile", "desktop"},
	OS: {"iOS", "Windows"}, Browser: {"Safari", "Chrome"}, Language: {"de", "de-AT", "en", "den"},
	ReferrerHost: {"a.example", "b.example"},
	Query:        {"", "A", "a"},
}

func (m madeUp) condition() Condition {
	c := Condition{Field: ConditionFields[m.IntN(len(ConditionFields))]}
	if c.Field == Time {
		c.Op, c.At = m.of(After, Before), now.Add(time.Duration(m.IntN(5)-2)*time.Millisecond)
		return c
	}
	c.Op = m.of(In, NotIn)
	if c.Field == Query {
		c.Name = m.of("src", "x")
	}
	for range 1 + m.IntN(2) {
		v := m.of(words[c.Field]...)
		if c.Field != Query {
			v = m.of(v, strings.ToLower(v), strings.ToUpper(v))
		}
		c.Values = append(c.Values, v)
	}
	return c
}

func (m madeUp) link() *Link {
	l := &Link{URL: "https://own.example", Secret: newSecret()}
	for i := range m.IntN(4) {
		r := Rule{ID: "r" + strconv.Itoa(i), URL: "https://rule.example/" + strconv.Itoa(i)}
		for range 1 + m.IntN(3) {
			r.Conditions = append(r.Conditions, m.condition())
		}
		l.Rules = append(l.Rules, r)
	}
	if m.IntN(2) == 0 {
		for i := range 2 + m.IntN(9) {
			l.Variants = append(l.Variants, Variant{
				ID: "v" + strconv.Itoa(i), URL: "https://variant.example/" + strconv.Itoa(i), Weight: 1 + m.IntN(MaxWeight),
			})
		}
	}
	return l
}

func (m madeUp) addr() netip.Addr {
	var b [16]byte
	for i := range b {
		b[i] = byte(m.Uint32())
	}
	switch m.IntN(4) {
	case 0:
		return netip.Addr{}
	case 1:
		return netip.AddrFrom4([4]byte(b[:4]))
	case 2:
		return netip.AddrFrom16(netip.AddrFrom4([4]byte(b[:4])).As16())
	}
	return netip.AddrFrom16(b)
}

func (m madeUp) visitor() *Facts {
	f := &Facts{
		Now:       now.Add(time.Duration(m.IntN(5)-2) * time.Millisecond),
		Addr:      m.addr(),
		UserAgent: bytes.Repeat([]byte("u"), m.IntN(2000)),
	}
	for field, to := range map[string]*string{
		Country: &f.Country, Region: &f.Region, City: &f.City, Device: &f.Device, OS: &f.OS, Browser: &f.Browser,
		ReferrerHost: &f.ReferrerHost,
	} {
		if m.IntN(3) > 0 {
			*to = m.of(words[field]...)
		}
	}
	for range m.IntN(3) {
		f.Languages = append(f.Languages, m.of(words[Language]...))
	}
	if m.IntN(3) > 0 {
		name, value := m.of("src", "x"), m.of(words[Query]...)
		f.Query = func(asked string) (string, bool) { return value, asked == name }
	}
	return f
}

func TestVisitorsAreSentWhereTheRulesSay(t *testing.T) {
	t.Parallel()
	m := madeUp{rand.New(rand.NewPCG(1, 2))}
	byRule, byVariant := 0, 0
	for range 20_000 {
		l, f := m.link(), m.visitor()
		want, got := plainly(l, f), NewTargets(l).Choose(f)
		if got != want {
			t.Fatalf("link %+v\nvisitor %+v\nis sent to %+v, want %+v", l, f, got, want)
		}
		if got.RuleID != "" {
			byRule++
		}
		if got.VariantID != "" {
			byVariant++
		}
	}
	if byRule < 1000 || byVariant < 1000 {
		t.Errorf("%d by rules, %d by variants", byRule, byVariant)
	}
}

func TestVisitorsAreDividedByWeight(t *testing.T) {
	t.Parallel()
	l := &Link{
		Secret:   bytes.Repeat([]byte{7}, secretLen),
		Variants: []Variant{{ID: "a", Weight: 1}, {ID: "b", Weight: 3}, {ID: "c", Weight: 6}},
	}
	targets, m := NewTargets(l), madeUp{rand.New(rand.NewPCG(3, 4))}
	const visitors = 100_000
	counts := map[string]int{}
	for range visitors {
		f := &Facts{
			Addr:      netip.AddrFrom4([4]byte{byte(m.Uint32()), byte(m.Uint32()), byte(m.Uint32()), byte(m.Uint32())}),
			UserAgent: []byte("Mozilla/5.0"),
		}
		counts[targets.Choose(f).VariantID]++
	}
	for _, v := range l.Variants {
		p := float64(v.Weight) / 10
		if want, off := p*visitors, 5*math.Sqrt(visitors*p*(1-p)); math.Abs(float64(counts[v.ID])-want) > off {
			t.Errorf("%s of weight %d gets %d of %d, want %.0f within %.0f", v.ID, v.Weight, counts[v.ID], visitors, want, off)
		}
	}
}

func TestAVisitorStaysWithAVariantWhereverTheyAreInTheirNetwork(t *testing.T) {
	t.Parallel()
	l := &Link{Secret: newSecret()}
	for i := range MaxVariants {
		l.Variants = append(l.Variants, Variant{ID: strconv.Itoa(i), Weight: 1})
	}
	targets := NewTargets(l)
	at := func(addr, agent string) string {
		return targets.Choose(&Facts{Addr: netip.MustParseAddr(addr), UserAgent: []byte(agent)}).VariantID
	}
	first := at("2001:db8:1:2::1", "A")
	if got := at("2001:db8:1:2:ffff:ffff:ffff:ffff", "A"); got != first {
		t.Errorf("variant %s in the same network, then %s", first, got)
	}
	if got, want := at("::ffff:192.0.2.1", "A"), at("192.0.2.1", "A"); got != want {
		t.Errorf("variant %s of an address in the form of IPv6, %s of the address", got, want)
	}
	networks, agents, secrets := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range 100 {
		networks[at("2001:db8:1:"+strconv.Itoa(i)+"::1", "A")] = true
		agents[at("192.0.2.1", strconv.Itoa(i))] = true
		l.Secret = newSecret()
		secrets[NewTargets(l).Choose(&Facts{Addr: netip.MustParseAddr("192.0.2.1")}).VariantID] = true
	}
	if len(networks) < 2 || len(agents) < 2 || len(secrets) < 2 {
		t.Errorf("variants by network %d, by user agent %d, by link %d", len(networks), len(agents), len(secrets))
	}
}

//nolint:paralleltest // what others allocate would be counted
func TestATargetIsChosenWithoutAllocations(t *testing.T) {
	l := &Link{Secret: newSecret(), Variants: []Variant{{ID: "a", Weight: 1}, {ID: "b", Weight: 1}}}
	for _, field := range ConditionFields[:8] {
		l.Rules = append(l.Rules,
			Rule{ID: field, Conditions: []Condition{{Field: field, Op: In, Values: []string{"nowhere"}}}})
	}
	targets := NewTargets(l)
	f := &Facts{
		Country: "DE", Region: "Bavaria", City: "München", Device: "mobile", OS: "iOS", Browser: "Safari",
		Languages:    []string{"de-AT"},
		ReferrerHost: "a.example", Now: now, Addr: netip.MustParseAddr("2001:db8::1"),
		UserAgent: bytes.Repeat([]byte("u"), maxOrdinaryAgent),
	}
	if n := testing.AllocsPerRun(100, func() { targets.Choose(f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
