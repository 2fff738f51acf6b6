package event

import (
	"bytes"
	"fmt"
	"testing"
)

// bodyOfKeys is an event with so many fields that nobody knows.
func bodyOfKeys(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"name":"a"`)
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":1`, i)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// One body of 2 MB has room for 200,000 keys; a table of them and their list take 20 MB.
func TestADecoderKeepsNoMemoryOfVeryManyKeys(t *testing.T) {
	t.Parallel()
	for keys, kept := range map[int]bool{100: true, keptKeys / 2: true, keptKeys + 1: false, 100_000: false} {
		var d Decoder
		if _, err := d.Decode(bodyOfKeys(keys)); err != nil {
			t.Fatalf("%d keys: %v", keys, err)
		}
		d.Release()
		list, table := cap(d.scan.keys.keys), len(d.scan.keys.table)
		if list > keptKeys || table > keptKeys || (list > 0) != kept || (table > 0) != kept {
			t.Errorf("of %d keys a list of %d and a table of %d are kept, want at most %d, and none of more",
				keys, list, table, keptKeys)
		}
	}
}

// Many keys in many small objects never come into the table.
func TestADecoderKeepsNoMemoryOfManyOpenObjects(t *testing.T) {
	t.Parallel()
	var k keySet
	for range keptKeys + 1 {
		s := k.open()
		k.add(&s, []byte("a"))
	}
	if k.release(); k.keys != nil {
		t.Errorf("a list of %d keys is kept", cap(k.keys))
	}
}

// What was kept, or let go, of one body makes no key of the next one a duplicate, nor hides one.
func TestDuplicatesAreFoundAfterAnyBody(t *testing.T) {
	t.Parallel()
	var d Decoder
	for _, keys := range []int{20, keptKeys + 1, 20, 0, keptKeys / 2, 100_000, 17} {
		body := bodyOfKeys(keys)
		for range 2 {
			if _, err := d.Decode(body); err != nil {
				t.Fatalf("%d keys: %v", keys, err)
			}
			d.Release()
		}
		twice := append(bytes.TrimSuffix(body, []byte{'}'}), `,"x":1,"x":2}`...)
		if _, err := d.Decode(twice); err == nil {
			t.Errorf("a key twice among %d is no duplicate", keys)
		}
	}
}
