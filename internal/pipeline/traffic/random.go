package traffic

import "math"

// random is a generator of 64 bits of state, splitmix64. It is as cheap to seed as
// to use, so that every visitor can have one of their own.
type random uint64

const golden = 0x9E3779B97F4A7C15

// mix makes a number of others in which none of them shows.
func mix(parts ...uint64) uint64 {
	h := uint64(golden)
	for _, p := range parts {
		h = finish(h ^ p + golden)
	}
	return h
}

// finish is a bijection: what differs before it differs behind it.
func finish(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func (r *random) next() uint64 {
	*r += golden
	return finish(uint64(*r))
}

// below returns a number from 0 to n-1.
func (r *random) below(n int) int {
	const half = 32
	return int(r.next() >> half * uint64(n) >> half)
}

// between returns a number from low to high.
func (r *random) between(low, high int) int { return low + r.below(high-low+1) }

// unit returns a number from 0 to, but not, 1.
func (r *random) unit() float64 {
	const bits = 53
	return float64(r.next()>>(64-bits)) / (1 << bits)
}

// chance is true with a probability.
func (r *random) chance(p float64) bool { return r.unit() < p }

// around returns a positive number whose logarithm is spread evenly: the median is
// in the middle, and spread is the factor to either end.
func (r *random) around(middle, spread float64) float64 {
	return middle * math.Pow(spread, 2*r.unit()-1)
}

// rank returns a place in a list of n by Zipf's law: the k-th is chosen about 1/k
// times as often as the first.
func (r *random) rank(n int) int {
	return min(n-1, int(math.Exp(r.unit()*math.Log(float64(n+1))))-1)
}

// choice picks one of a few by their weights, to a 256th.
type choice[T any] struct {
	of []T
	at [256]uint8
}

// newChoice returns a choice of at most 256 rows, each of which gets a share even if
// its weight is tiny.
func newChoice[T any](rows []T, weight func(*T) int) choice[T] {
	c := choice[T]{of: rows}
	total := 0
	for i := range rows {
		total += weight(&rows[i])
	}
	sum, slot := 0, 0
	for i := range rows {
		sum += weight(&rows[i])
		left := len(rows) - 1 - i // who want a slot each
		end := min(max(slot+1, sum*len(c.at)/total), len(c.at)-left)
		for ; slot < end; slot++ {
			c.at[slot] = uint8(i)
		}
	}
	return c
}

func (c *choice[T]) pick(r *random) *T { return &c.of[c.at[r.next()>>56]] }
