package enrich

import "testing"

func TestATableRemembersTheLatestAndIsBounded(t *testing.T) {
	t.Parallel()
	m := newTable[int, int](8 * ways)
	if _, ok := m.get(0); ok {
		t.Error("an empty table knows 0")
	}
	const n = 1000
	for i := range n {
		m.put(i, -i)
		if v, ok := m.get(i); !ok || v != -i {
			t.Errorf("%d was forgotten at once, or is %d", i, v)
		}
	}
	known := 0
	for i := range n {
		if _, ok := m.get(i); ok {
			known++
		}
	}
	if known == 0 || known > 8*ways {
		t.Errorf("%d entries are known, of %d that have room", known, 8*ways)
	}
}
