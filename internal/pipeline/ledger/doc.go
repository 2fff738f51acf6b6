// Package ledger holds the pipeline against its own ledger while it runs.
//
// The sink writes an entry for every range of offsets that it settles. The
// Reconciler reads them again and checks two things:
//
//   - Coverage: from its previous mark to the offset that is committed, every
//     offset of a partition is in exactly one entry, and the five counts of each
//     entry add up to its length. A gap is an acknowledged event that nobody can
//     account for; an overlap is a range that was settled twice under one epoch.
//   - Agreement: for every owner and UTC day that an entry touched, the rollups
//     hold as many events as the base table read with FINAL. Days that differ are
//     listed as dirty, and queries answer them from the base.
//
// It promises that a restart, a rebalance or a second reconciler on the same
// partition neither hides a finding nor invents one, that its work per round is
// bounded, and that what it could not look at in a round is looked at later. It
// repairs nothing: a gap stays a finding until an entry covers it, or the
// partition is replayed under a new epoch.
//
// The package knows neither Kafka nor ClickHouse: Store is declared here.
package ledger
