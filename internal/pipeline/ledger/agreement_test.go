package ledger

import (
	"testing"

	"pgregory.net/rapid"
)

func TestTheVerdictOfTwoLooks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first, second Counts
		want          Verdict
	}{
		"the same in all tables":                        {Counts{5, 5, 5}, Counts{5, 5, 5}, Agree},
		"nothing at all":                                {Counts{}, Counts{}, Agree},
		"equal, but not at the first look":              {Counts{4, 4, 4}, Counts{5, 5, 5}, Unsettled},
		"an insert was under way at the first look":     {Counts{5, 4, 4}, Counts{5, 5, 5}, Unsettled},
		"an insert is under way at the second look":     {Counts{4, 4, 4}, Counts{5, 4, 4}, Unsettled},
		"its views came first":                          {Counts{4, 4, 4}, Counts{4, 5, 4}, Unsettled},
		"one event too many in the rollup of a day":     {Counts{5, 5, 6}, Counts{5, 5, 6}, Over},
		"one event too many in that of 15 minutes":      {Counts{5, 6, 5}, Counts{5, 6, 5}, Over},
		"too many, though the base grows":               {Counts{5, 9, 9}, Counts{8, 12, 12}, Over},
		"too many, hidden by what came meanwhile":       {Counts{5, 9, 9}, Counts{9, 13, 13}, Unsettled},
		"one event too few":                             {Counts{5, 4, 5}, Counts{5, 4, 5}, Under},
		"a rollup that is empty":                        {Counts{5, 5, 0}, Counts{5, 5, 0}, Under},
		"rows deleted from the base":                    {Counts{5, 5, 5}, Counts{4, 5, 5}, Over},
		"one rollup has too many and the other too few": {Counts{5, 6, 4}, Counts{5, 6, 4}, Over},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Judge(tt.first, tt.second); got != tt.want {
				t.Errorf("the verdict is %s, want %s", got, tt.want)
			}
		})
	}
}

// TestAnInsertUnderWayIsNeverAccused draws inserts that reach the three tables in
// any order, each within a time that is below half of the settle time, and looks
// twice, a settle time apart. A look reads the tables one after the other.
func TestAnInsertUnderWayIsNeverAccused(t *testing.T) {
	t.Parallel()
	const longest, settle = 10, 2*10 + 1
	rapid.Check(t, func(t *rapid.T) {
		type insert struct {
			rows uint64
			at   [3]int // when each table has them
		}
		inserts := make([]insert, rapid.IntRange(0, 8).Draw(t, "inserts"))
		for i := range inserts {
			begin := rapid.IntRange(0, 60).Draw(t, "begin")
			inserts[i].rows = rapid.Uint64Range(1, 5).Draw(t, "rows")
			for table := range inserts[i].at {
				inserts[i].at[table] = begin + rapid.IntRange(0, longest).Draw(t, "after")
			}
		}
		surplus := rapid.Uint64Range(0, 2).Draw(t, "surplus") // in the rollups, from long ago
		look := func(from int) Counts {
			n := [3]uint64{0, surplus, surplus}
			for table := range n {
				at := from + rapid.IntRange(0, 3).Draw(t, "reading")
				for _, i := range inserts {
					if i.at[table] <= at {
						n[table] += i.rows
					}
				}
			}
			return Counts{n[0], n[1], n[2]}
		}
		first := rapid.IntRange(0, 60).Draw(t, "look")
		got := Judge(look(first), look(first+3+settle))
		switch {
		case surplus == 0 && got != Agree && got != Unsettled:
			t.Errorf("inserts %v are accused of %s", inserts, got)
		case surplus > 0 && (got == Agree || got == Under):
			t.Errorf("a surplus of %d is taken for %s", surplus, got)
		case surplus > 0 && len(inserts) == 0 && got != Over:
			t.Errorf("a surplus of %d on a quiet day is %s", surplus, got)
		}
	})
}
