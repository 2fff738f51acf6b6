package management

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/resource/link"
)

// ClickCounter counts the clicks of links; those of which there are none are left out.
// *clickhouse.LinkClicks is one.
type ClickCounter interface {
	LinkClicks(ctx context.Context, ids []string) (map[string]link.Clicks, error)
}

// countingFor is how long a response waits for the clicks of its links.
const countingFor = 3 * time.Second

// WithClicks asks for ClickCounts.
type WithClicks struct {
	WithClicks bool `json:"withClicks,omitempty" doc:"Whether to include click counts."`
}

// ClickCounts are told where they are asked for.
type ClickCounts struct {
	Clicks        rpc.Patch[int64]    `json:"clicks,omitzero" nullable:"true" doc:"Clicks of persons, with withClicks; null while the count is unavailable."`
	LastClickedAt rpc.Patch[rpc.Time] `json:"lastClickedAt,omitzero" nullable:"true" doc:"Time of the last click of a person, with withClicks; null without a click, or if the time is unavailable."`
}

// countedBody is a link with its clicks.
type countedBody struct {
	LinkBody
	ClickCounts
}

// count tells of links how often they were clicked, of all with one question; null where
// nobody can say now.
func (s *Links) count(ctx context.Context, links []countedBody) {
	found, err := s.clicks(ctx, each(links, func(l countedBody) string { return l.ID }))
	for i := range links {
		l := &links[i]
		l.Clicks.Set, l.LastClickedAt.Set = true, true
		if err == nil {
			of := found[l.ID]
			l.Clicks.Value, l.LastClickedAt.Value = &of.Count, rpc.At(of.Last)
		}
	}
}

// errNotCounted is why there are no counts where nothing counts.
var errNotCounted = errors.New("click counts are unavailable")

func (s *Links) clicks(ctx context.Context, ids []string) (map[string]link.Clicks, error) {
	if s.Clicks == nil {
		return nil, errNotCounted
	}
	if len(ids) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, countingFor)
	defer cancel()
	found, err := s.Clicks.LinkClicks(ctx, ids)
	if err != nil {
		s.Log.LogAttrs(ctx, slog.LevelWarn, "counting link clicks failed", slog.Int("links", len(ids)),
			slog.Any("error", err))
	}
	return found, err
}
