package ledger

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func span(first, last int64) Span { return Span{First: first, Last: last} }

// settled is the entry of a range in which every offset was stored.
func settled(epoch, first, last int64, touched ...Touched) Entry {
	return Entry{
		Epoch: epoch, Span: span(first, last), Kind: EntryRange, Stored: last - first + 1, Touched: touched,
	}
}

func gone(first, last int64) Entry {
	return Entry{Epoch: 1, Span: span(first, last), Kind: EntryGap, Skipped: last - first + 1}
}

func TestCoverageOfEntries(t *testing.T) {
	t.Parallel()
	short := settled(1, 0, 9)
	short.Stored = 9
	for name, tt := range map[string]struct {
		from, to Cursor
		entries  []Entry
		partly   bool
		want     Findings
	}{
		"ranges that follow each other are whole": {
			Cursor{1, 0}, Cursor{1, 20}, []Entry{settled(1, 0, 9), settled(1, 10, 19)}, false, Findings{End: Cursor{1, 20}},
		},
		"nothing is committed behind the mark": {
			Cursor{1, 20}, Cursor{1, 20}, nil, false, Findings{End: Cursor{1, 20}},
		},
		"an offset set back by hand leaves the mark": {
			Cursor{1, 20}, Cursor{1, 5}, nil, false, Findings{End: Cursor{1, 20}},
		},
		"a committed range without an entry is a gap": {
			Cursor{1, 0},
			Cursor{1, 20},
			[]Entry{settled(1, 0, 9)},
			false,
			Findings{Gaps: []Gap{{Cursor{1, 10}, Cursor{1, 20}}}, End: Cursor{1, 20}},
		},
		"so is one between two others": {
			Cursor{1, 0},
			Cursor{1, 30},
			[]Entry{settled(1, 0, 9), settled(1, 20, 29)},
			false,
			Findings{Gaps: []Gap{{Cursor{1, 10}, Cursor{1, 20}}}, End: Cursor{1, 30}},
		},
		"what is not read yet is no gap": {
			Cursor{1, 0}, Cursor{1, 20}, []Entry{settled(1, 0, 9)}, true, Findings{End: Cursor{1, 10}},
		},
		"a range that is not committed yet is left": {
			Cursor{1, 0}, Cursor{1, 10}, []Entry{settled(1, 0, 9), settled(1, 12, 19)}, false, Findings{End: Cursor{1, 10}},
		},
		"a range settled twice is an overlap": {
			Cursor{1, 0},
			Cursor{1, 20},
			[]Entry{settled(1, 0, 9), settled(1, 5, 14), settled(1, 15, 19)},
			false,
			Findings{Overlaps: []Span{span(5, 9)}, End: Cursor{1, 20}},
		},
		"a range within another one is an overlap": {
			Cursor{1, 0},
			Cursor{1, 20},
			[]Entry{settled(1, 0, 19), settled(1, 5, 9)},
			false,
			Findings{Overlaps: []Span{span(5, 9)}, End: Cursor{1, 20}},
		},
		"counts that do not add up are told": {
			Cursor{1, 0}, Cursor{1, 10}, []Entry{short}, false, Findings{Miscounts: []Entry{short}, End: Cursor{1, 10}},
		},
		"a higher epoch goes on where the lower one ended": {
			Cursor{1, 0}, Cursor{2, 20}, []Entry{settled(1, 0, 9), settled(2, 10, 19)}, false, Findings{End: Cursor{2, 20}},
		},
		"a replay covers offsets again under a higher epoch": {
			Cursor{1, 0},
			Cursor{2, 20},
			[]Entry{settled(1, 0, 9), settled(1, 10, 19), settled(2, 5, 19)},
			false,
			Findings{End: Cursor{2, 20}},
		},
		"a replay that has not begun is no gap": {
			Cursor{1, 0}, Cursor{2, 5}, []Entry{settled(1, 0, 19)}, false, Findings{End: Cursor{1, 20}},
		},
		"a replay begins where its mark says": {
			Cursor{2, 5},
			Cursor{2, 20},
			[]Entry{settled(2, 10, 19)},
			false,
			Findings{Gaps: []Gap{{Cursor{2, 5}, Cursor{2, 10}}}, End: Cursor{2, 20}},
		},
		"an epoch that begins too late leaves a gap": {
			Cursor{1, 0},
			Cursor{2, 20},
			[]Entry{settled(1, 0, 9), settled(2, 12, 19)},
			false,
			Findings{Gaps: []Gap{{Cursor{1, 10}, Cursor{2, 12}}}, End: Cursor{2, 20}},
		},
		"what retention took is lost and no gap": {
			Cursor{1, 0},
			Cursor{1, 40},
			[]Entry{settled(1, 0, 9), gone(10, 14), gone(10, 19), settled(1, 25, 39)},
			false,
			Findings{Lost: []Span{span(10, 14), span(15, 19)}, Gaps: []Gap{{Cursor{1, 20}, Cursor{1, 25}}}, End: Cursor{1, 40}},
		},
		"what was skipped at the end is lost and no gap": {
			Cursor{1, 0},
			Cursor{1, 20},
			[]Entry{settled(1, 0, 9), gone(10, 19)},
			false,
			Findings{Lost: []Span{span(10, 19)}, End: Cursor{1, 20}},
		},
		"a partition that waits for the skip has no gap": {
			Cursor{1, 0}, Cursor{1, 10}, []Entry{settled(1, 0, 9), gone(10, 19)}, false, Findings{End: Cursor{1, 10}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Check(tt.from, tt.to, tt.entries, !tt.partly)
			if diff := gocmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCoverageIsThatOfCountingEachOffset draws ranges that cut a log into pieces,
// drops, doubles and stretches some, and compares with a count for every offset.
func TestCoverageIsThatOfCountingEachOffset(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		begin := rapid.Int64Range(0, 20).Draw(t, "begin")
		entries, at := []Entry(nil), begin
		for range rapid.IntRange(0, 12).Draw(t, "ranges") {
			first := max(begin, at+rapid.SampledFrom([]int64{0, 0, 0, 0, 3, -2}).Draw(t, "shift"))
			last := first + rapid.Int64Range(0, 6).Draw(t, "length")
			e := settled(1, first, last)
			if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
				e = gone(first, last)
			}
			entries = append(entries, e)
			at = max(at, last+1)
		}
		entries = distinct(entries)
		end := at + rapid.SampledFrom([]int64{0, 0, 4}).Draw(t, "behind")

		got := Check(Cursor{1, begin}, Cursor{1, end}, entries, true)

		covered, dead := map[int64]int{}, map[int64]bool{}
		for _, e := range entries {
			for o := e.Span.First; o <= e.Span.Last; o++ {
				if e.Kind == EntryGap {
					dead[o] = true
				} else {
					covered[o]++
				}
			}
		}
		var gaps, lost, twice []int64
		for o := begin; o < end; o++ {
			switch {
			case covered[o] > 1:
				twice = append(twice, o)
			case covered[o] == 0 && dead[o]:
				lost = append(lost, o)
			case covered[o] == 0:
				gaps = append(gaps, o)
			}
		}
		var found []Span
		for _, g := range got.Gaps {
			found = append(found, g.Span())
		}
		for name, pair := range map[string][2][]int64{
			"gaps": {gaps, offsets(found)}, "lost": {lost, offsets(got.Lost)}, "overlaps": {twice, offsets(got.Overlaps)},
		} {
			if diff := gocmp.Diff(pair[0], pair[1], cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-counted +found):\n%s", name, diff)
			}
		}
		if want := (Cursor{1, end}); got.End != want {
			t.Errorf("the check ends at %v, want %v", got.End, want)
		}
	})
}

// TestCoverageInPagesFindsTheSame reads the same entries a few at a time.
func TestCoverageInPagesFindsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var entries []Entry
		epoch, at := int64(1), int64(0)
		for range rapid.IntRange(1, 15).Draw(t, "ranges") {
			if rapid.IntRange(0, 5).Draw(t, "replay") == 0 {
				epoch, at = epoch+1, max(0, at-rapid.Int64Range(0, 8).Draw(t, "back"))
			}
			first := at + rapid.SampledFrom([]int64{0, 0, 2}).Draw(t, "shift")
			last := first + rapid.Int64Range(0, 5).Draw(t, "length")
			entries = append(entries, settled(epoch, first, last))
			at = last + 1
		}
		to := Cursor{epoch, at}
		whole := Check(Cursor{1, 0}, to, entries, true)

		paged := Findings{End: Cursor{1, 0}}
		limit := rapid.IntRange(1, 4).Draw(t, "page")
		for range len(entries) + 1 {
			page := after(entries, paged.End, limit)
			f := Check(paged.End, to, page, len(page) < limit)
			paged.Gaps, paged.End = append(paged.Gaps, f.Gaps...), f.End
			if len(page) < limit {
				break
			}
		}
		if diff := gocmp.Diff(whole, paged, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("pages of %d (-at once +in pages):\n%s", limit, diff)
		}
	})
}

func distinct(entries []Entry) []Entry {
	slices.SortStableFunc(entries, order)
	return slices.CompactFunc(entries, func(a, b Entry) bool { return order(a, b) == 0 })
}

func order(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Span.First, b.Span.First),
		cmp.Compare(a.Span.Last, b.Span.Last))
}

// after is what Store.Entries promises.
func after(entries []Entry, from Cursor, limit int) []Entry {
	var page []Entry
	for _, e := range entries {
		if (e.Epoch > from.Epoch || e.Epoch == from.Epoch && e.Span.Last >= from.Next) && len(page) < limit {
			page = append(page, e)
		}
	}
	return page
}

func offsets(spans []Span) []int64 {
	var all []int64
	for _, s := range spans {
		for o := s.First; o <= s.Last; o++ {
			all = append(all, o)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
