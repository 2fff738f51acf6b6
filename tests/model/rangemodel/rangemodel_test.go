package rangemodel

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit"
)

var more = flag.Int("more-faults", 0, "explore with so many more faults; each makes the space about ten times larger")

// size tells in which runs a world is explored.
type size int

const (
	small size = iota
	large      // seconds and hundreds of megabytes: not under -short
	huge       // twice that: in the quiet tier, or with more faults
)

// worlds are explored to their end.
var worlds = map[string]struct {
	config Config
	least  int // states, so that a mistake that closes off most of the space is seen
	size
}{
	"two partitions of two records, one fault":      {Config{Records: [2]uint8{2, 2}, Faults: 1}, 2_300_000, huge},
	"a resend and three faults":                     {Config{Records: [2]uint8{3, 0}, Faults: 3}, 1_200_000, large},
	"two months and two faults":                     {Config{Records: [2]uint8{0, 3}, Faults: 2}, 100_000, small},
	"two partitions of a record each and one fault": {Config{Records: [2]uint8{1, 1}, Faults: 1}, 100_000, small},
	"nothing goes wrong":                            {Config{Records: [2]uint8{3, 3}}, 100, small},
}

func TestTheProtocolHoldsInEveryState(t *testing.T) {
	t.Parallel()
	for name, w := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if (w.size >= large && testing.Short()) || (w.size == huge && !testkit.Strict() && *more == 0) {
				t.Skip("takes seconds and hundreds of megabytes")
			}
			w.config.Faults += *more
			began := time.Now()
			r := Explore(w.config)
			t.Logf("%d states, %d steps, depth %d, in %v", r.States, r.Steps, r.Depth, time.Since(began).Round(time.Millisecond))
			if r.Broken != None {
				t.Errorf("%v:\n%s", r.Broken, strings.Join(r.Trace, "\n"))
			}
			if r.States < w.least {
				t.Errorf("%d states were explored, want %d at least", r.States, w.least)
			}
		})
	}
}

// broken are the protocol with a piece missing each, and what has to be found.
var broken = map[string]Config{
	"no plan": {
		Variant: Variant{NoPlan: true}, Watch: []Invariant{Doubled}, Records: [2]uint8{2, 0}, Faults: 1,
	},
	"no plan, ledger": {
		Variant: Variant{NoPlan: true}, Watch: []Invariant{LedgerOverlap}, Records: [2]uint8{2, 0}, Faults: 1,
	},
	"no fence": {
		Variant: Variant{NoFence: true}, Watch: []Invariant{Doubled}, Records: [2]uint8{2, 0}, Faults: 1,
	},
	"no fence, offset": {
		Variant: Variant{NoFence: true}, Watch: []Invariant{Backwards}, Records: [2]uint8{1, 0}, Faults: 2,
	},
	"no token": {
		Variant: Variant{NoToken: true}, Watch: []Invariant{Doubled}, Records: [2]uint8{1, 0}, Faults: 1,
	},
	"no tokens kept by the rollup": {
		Variant: Variant{NoViewTokens: true}, Watch: []Invariant{Doubled}, Records: [2]uint8{1, 0}, Faults: 1,
	},
	"one token for two months": {
		Variant: Variant{OneTokenForMonths: true}, Watch: []Invariant{RollupDiffers}, Records: [2]uint8{0, 2},
	},
	"commit before insert": {
		Variant: Variant{CommitBeforeInsert: true}, Watch: []Invariant{Lost}, Records: [2]uint8{1, 0}, Faults: 1,
	},
	"commit before insert, order": {
		Variant: Variant{CommitBeforeInsert: true}, Watch: []Invariant{Early}, Records: [2]uint8{1, 0},
	},
	"ledger after commit": {
		Variant: Variant{LedgerAfterCommit: true}, Watch: []Invariant{LedgerGap}, Records: [2]uint8{1, 0}, Faults: 1,
	},
	"drop when raised": {
		Variant: Variant{DropWhenRaised: true}, Watch: []Invariant{Lost}, Records: [2]uint8{0, 3}, Faults: 1,
	},
	"drop when raised, progress": {
		Variant: Variant{DropWhenRaised: true}, Watch: []Invariant{NoProgress}, Records: [2]uint8{1, 0}, Faults: 1,
	},
	"no window rebuilt": {
		Variant: Variant{NoWindowRebuild: true}, Watch: []Invariant{Resent}, Records: [2]uint8{2, 0}, Faults: 1,
	},
	"no low watermark in the metadata": {
		Variant: Variant{NoLowWatermark: true}, Watch: []Invariant{TokenReused}, Records: [2]uint8{3, 0}, Faults: 2,
	},
	"no ceiling in the metadata": {
		Variant: Variant{NoCeiling: true}, Watch: []Invariant{TokenReused}, Records: [2]uint8{3, 0}, Faults: 2,
	},
}

func TestEachPieceIsNeeded(t *testing.T) {
	t.Parallel()
	for name, c := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, plain := range []bool{false, true} {
				c.Plain = plain
				r := Explore(c)
				if r.Broken != c.Watch[0] {
					t.Fatalf("plain %v: found %v in %d states, want %v", plain, r.Broken, r.States, c.Watch[0])
				}
				if !plain {
					t.Logf("found after %d states:\n%s", r.States, strings.Join(r.Trace, "\n"))
				}
			}
			c.Variant, c.Plain, c.Watch = Variant{}, false, nil
			if r := Explore(c); r.Broken != None {
				t.Errorf("the whole protocol in the same world: %v:\n%s", r.Broken, strings.Join(r.Trace, "\n"))
			}
		})
	}
}

func TestTheReductionsChangeNoVerdict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"resend":         {Records: [2]uint8{3, 0}, Faults: 1},
		"months":         {Records: [2]uint8{0, 3}, Faults: 1},
		"two partitions": {Records: [2]uint8{1, 1}, Faults: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reduced := Explore(c)
			c.Plain = true
			plain := Explore(c)
			t.Logf("%d states, %d of them after reduction", plain.States, reduced.States)
			if plain.Broken != None || reduced.Broken != None || plain.States <= reduced.States {
				t.Errorf("plain: %v in %d states, reduced: %v in %d", plain.Broken, plain.States, reduced.Broken, reduced.States)
			}
		})
	}
}

func TestATraceIsAShortestWay(t *testing.T) {
	t.Parallel()
	got := Explore(broken["no token"]).Trace
	want := []string{
		"A is assigned partition 0",
		"A reads the metadata of partition 0 and has nothing after offset 0",
		"A polls record 0 of partition 0",
		"A freezes range [0,0] of partition 0",
		"A commits the plan [0,0] of partition 0",
		"A sends month 0 of [0,0] of partition 0",
		"the server is through with the base table for A, [0,0] of partition 0",
		"the answer to the insert of [0,0] of partition 0 never reaches A",
		"A sends month 0 of [0,0] of partition 0",
		"the server is through with the base table for A, [0,0] of partition 0",
		"→ doubled",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the trace (-want +got):\n%s", diff)
	}
}

// TestPackingKeepsEverythingButTheOrderOfWorkers walks at random and compares.
func TestPackingKeepsEverythingButTheOrderOfWorkers(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		x := explorer{records: [partitions]uint8{3, 3}, state: start(7)}
		for range 60 {
			var next []state
			x.visit = func(step) { next = append(next, x.to) }
			x.expand()
			if len(next) == 0 {
				break
			}
			x.state = next[random.IntN(len(next))]
			k := x.state.pack()
			back := unpack(&k)
			if again := back.pack(); again != k {
				t.Fatalf("packed, unpacked and packed: %v, want %v", again, k)
			}
			turned := x.state
			turned.worker[0], turned.worker[1], turned.worker[2] = turned.worker[2], turned.worker[0], turned.worker[1]
			if turned.pack() != k {
				t.Fatalf("workers in another order pack as %v, want %v", turned.pack(), k)
			}
			back.worker, turned.worker = x.state.worker, x.state.worker
			if back != x.state || turned != x.state {
				t.Fatalf("unpacked %+v, want %+v", back, x.state)
			}
		}
	}
}
