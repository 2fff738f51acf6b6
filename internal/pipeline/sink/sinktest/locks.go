package sinktest

import (
	"context"
	"slices"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// WithoutPlan returns the parts of a sink that inserts ranges which were not planned, and
// knows of no plan that another one left, nor of how ranges were cut.
func WithoutPlan(d sink.Deps) sink.Deps {
	d.Source = unplannedSource{d.Source}
	d.Ledger = unplannedLedger{d.Ledger}
	return d
}

type unplannedSource struct{ sink.Source }

// Open implements sink.Source.
func (s unplannedSource) Open(ctx context.Context, listener sink.RebalanceListener) error {
	return s.Source.Open(ctx, unplannedListener{listener})
}

// Commit implements sink.Source.
func (s unplannedSource) Commit(
	ctx context.Context, p sink.Partition, session sink.Session, progress sink.Progress,
) error {
	if state, _, err := ledger.DecodeState(progress.Metadata); err == nil && state.Plan != nil {
		return nil
	}
	return s.Source.Commit(ctx, p, session, progress)
}

type unplannedListener struct{ sink.RebalanceListener }

// Assigned implements sink.RebalanceListener.
func (o unplannedListener) Assigned(ctx context.Context, assigned []sink.Assignment) {
	assigned = slices.Clone(assigned)
	for i := range assigned {
		assigned[i].Metadata = unplanned(assigned[i].Metadata)
	}
	o.RebalanceListener.Assigned(ctx, assigned)
}

// unplanned is commit metadata without its plan; what cannot be read stays.
func unplanned(metadata string) string {
	state, known, err := ledger.DecodeState(metadata)
	if err != nil || !known {
		return metadata
	}
	state.Plan, state.Rejected = nil, nil
	without, err := state.Encode()
	if err != nil {
		return metadata
	}
	return without
}

type unplannedLedger struct{ sink.Ledger }

// Ranges implements sink.Ledger.
func (unplannedLedger) Ranges(context.Context, [16]byte, int32, int64, int64, int) ([]ledger.Span, error) {
	return nil, nil
}

// WithoutInsertToken returns the parts of a sink whose blocks have no insert token.
func WithoutInsertToken(d sink.Deps) sink.Deps {
	d.Inserter = namelessInserter{d.Inserter}
	return d
}

type namelessInserter struct{ sink.Inserter }

// Insert implements sink.Inserter.
func (i namelessInserter) Insert(ctx context.Context, b sink.Block, _ string) error {
	return i.Inserter.Insert(ctx, b, "")
}

// Unfenced is a fence that commits for whatever membership the client has now, also of a
// partition that is somebody else's.
func Unfenced(bool, sink.Session, sink.Session) error { return nil }
