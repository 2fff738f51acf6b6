package event

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
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

// A body is peeked into before anything is claimed for what it takes.
func TestAPeekRemembersNoKeys(t *testing.T) {
	t.Parallel()
	many := bodyOfKeys(20_000)
	for name, before := range map[string][]byte{
		"keys":         many[1 : len(many)-1],
		"keys within":  []byte(`"x":` + string(many)),
		"objects":      []byte(`"x":[` + strings.Repeat(string(bodyOfKeys(20))+",", 1000) + `{}]`),
		"escaped keys": []byte(`"x":` + strings.ReplaceAll(string(many), `"k`, `"\u006b`)),
		"a long key":   []byte(`"` + strings.Repeat(`\n`, 100_000) + `":1`),
		"a key twice":  []byte(`"x":{` + strings.Repeat(`"a":1,`, 100) + `"b":1}`),
	} {
		var d Decoder
		if got := d.PeekWebsiteID([]byte("{" + string(before) + `,"websiteId":"\u0077"}`)); string(got) != "w" {
			t.Errorf("%s: %q is found behind them", name, got)
		}
		list, table, text := cap(d.scan.keys.keys), len(d.scan.keys.table), cap(d.scan.text)
		if list > keptKeys || table > 0 || text > 8<<10 {
			t.Errorf("%s: a list of %d and a table of %d are kept, and %d bytes of text", name, list, table, text)
		}
	}
}

// The table is as large as the keys of one object need, however many there are.
func TestTheTableDoesNotGrowWithObjectsThatAreClosed(t *testing.T) {
	t.Parallel()
	object := string(bodyOfKeys(20))
	for name, body := range map[string]string{
		"events":  "[" + strings.Repeat(object+",", 5000) + object + "]",
		"objects": `{"name":"a","x":[` + strings.Repeat(object+",", 5000) + object + "]}",
	} {
		var d Decoder
		if _, err := d.Decode([]byte(body)); err != nil {
			t.Fatal(err)
		}
		if n := len(d.scan.keys.table); n > keptKeys {
			t.Errorf("%s: a table of %d for 20 keys at a time", name, n)
		}
	}
}

func TestRoomIsAskedForBeforeKeysTakeIt(t *testing.T) {
	t.Parallel()
	within := `{"name":"a","properties":` + string(bodyOfKeys(5000)) + `}`
	for name, tc := range map[string]struct {
		body  string
		asked bool
	}{
		"usual":      {string(benchBody(100)), false},
		"half":       {string(bodyOfKeys(keptKeys / 2)), false},
		"of events":  {string(bodyOfKeys(5000)), true},
		"properties": {within, true},
		"objects":    {`{"name":"a","x":` + strings.Repeat(`{"y":`, 20) + string(bodyOfKeys(5000)) + strings.Repeat("}", 21), true},
	} {
		var given int
		d := Decoder{Room: func(n int) error { given += n; return nil }}
		_, _ = d.Decode([]byte(tc.body))
		took := cap(d.scan.keys.keys)*keyBytes + len(d.scan.keys.table)*slotBytes
		if (given > 0) != tc.asked || tc.asked && took > given {
			t.Errorf("%s: %d bytes are taken, %d were asked for", name, took, given)
		}
	}
	full := errors.New("full")
	d := Decoder{Room: func(int) error { return full }}
	for range 2 {
		if got, err := d.Decode([]byte(within)); !errors.Is(err, full) || got != nil {
			t.Errorf("without room: %d events, %v", len(got), err)
		}
		if got, _, err := d.DecodeEach(Pages, []byte("["+within+",{}]")); !errors.Is(err, full) || got != nil {
			t.Errorf("one by one: %d events, %v", len(got), err)
		}
		if _, err := d.Decode([]byte(`{"name":"a"}`)); err != nil {
			t.Errorf("a usual body afterwards: %v", err)
		}
	}
}

// Objects within each other may have the same keys, and so may one that follows another.
func TestKeysAreToldApartLikeByAMapForEachObject(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var k keySet
	var scopes []keyScope
	var want []map[string]bool
	for range 200_000 {
		switch n := r.IntN(100); {
		case len(scopes) == 0 || n < 3 && len(scopes) < MaxDepth:
			scopes, want = append(scopes, k.open()), append(want, map[string]bool{})
		case n < 6:
			k.close(&scopes[len(scopes)-1])
			scopes, want = scopes[:len(scopes)-1], want[:len(want)-1]
		default:
			key := strconv.Itoa(r.IntN(1000))
			was := want[len(want)-1]
			if got := k.add(&scopes[len(scopes)-1], []byte(key)); got == was[key] {
				t.Fatalf("key %s of an object of %d, %d deep, is new: %t", key, len(was), len(scopes), got)
			} else if !got { // which ends a body
				k.reset()
				scopes, want = nil, nil
				continue
			}
			was[key] = true
		}
	}
}
