package linkcache

import (
	"hash/maphash"
	"strconv"
	"testing"
)

func TestAnOrganizationGetsANumberAtItsSecondLinkWhileThereIsRoom(t *testing.T) {
	t.Parallel()
	n, seed := newNames(), maphash.MakeSeed()
	for i := range maxNames + 1 {
		name := "org_" + strconv.Itoa(i)
		if _, ok := n.numberOf(seed, name); ok {
			t.Fatalf("%s has a number at its first link", name)
		}
		number, ok := n.numberOf(seed, name)
		if want := i < maxNames; ok != want || ok && n.name(uint64(number)) != name {
			t.Fatalf("%s: number %d, %t, want %t", name, number, ok, want)
		}
	}
	if got := n.name(0); got != "org_0" {
		t.Errorf("number 0 is %s by now", got)
	}
}
