package ledger

// Counts are how many events of an owner and a UTC day each table holds.
type Counts struct {
	Base     uint64 // rows of the base table, read with FINAL
	Quarters uint64 // sum over the rollup of 15 minutes
	Days     uint64 // sum over the rollup of a day
}

// Verdict says what two observations of a pair tell.
type Verdict string

// The verdicts.
const (
	// Unsettled tells nothing: something was inserted between the observations.
	Unsettled Verdict = "unsettled"
	// Agree means that all tables held the same, both times.
	Agree Verdict = "agree"
	// Over means that a rollup holds events which the base does not have: an event
	// was inserted again under another token, or rows were deleted.
	Over Verdict = "over"
	// Under means that a rollup lacks events which the base has.
	Under Verdict = "under"
)

// Judge compares two observations of one pair, made at least a settle time apart,
// which is more than twice the longest time that one insert may take.
//
// An insert writes the base and the rollups one after the other, so that a single
// look may see it in one table and not yet in the other. Judge never takes that
// for a difference. Without deletions, all three counts only grow, and an insert
// adds as much to one table as to the others. What a rollup held at the first
// look came from inserts that had begun by then; by the second look each of them
// has ended, so the base has their rows too: a rollup that held more at the first
// look than the base holds at the second one holds events that are not there.
// That is Over. Under is the same with the tables exchanged. Inserts that begin
// between the two looks only raise the second numbers, which may hide a
// difference and never makes one.
//
// What they hide shows when the pair is quiet: where both looks saw the same
// numbers, a difference of any size is Over or Under, and only equality is Agree.
//
// An insert that ended halfway, with the server or in a view, and is not made
// again for longer than the settle time is reported: at both looks, the day did
// differ. It is found equal again after the retry.
func Judge(first, second Counts) Verdict {
	switch {
	case max(first.Quarters, first.Days) > second.Base:
		return Over
	case first.Base > min(second.Quarters, second.Days):
		return Under
	case first == second && second.Base == second.Quarters && second.Base == second.Days:
		return Agree
	}
	return Unsettled
}
