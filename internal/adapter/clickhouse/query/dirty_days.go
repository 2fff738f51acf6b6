package query

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"golang.org/x/sync/singleflight"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/platform/config"
)

// How long the list of dirty days is used.
const (
	dirtyFresh = 5 * time.Second // without asking again
	dirtyStale = time.Minute     // while asking fails
	dirtyWait  = 5 * time.Second // for a response
	// dirtySpare is how long a caller waits for it who can do with the list as it was.
	dirtySpare = time.Second
)

// DirtyDays remembers the list of dirty days. It implements analytics.DirtyDays.
//
// What it says is up to five seconds old, and up to a minute while ClickHouse does not answer,
// or not within a second; after that it returns errors. Whoever asks first after five seconds
// looks whether the list has changed, which costs one statement that reads no rows, and only
// then reads it again; whoever asks meanwhile waits for that. Nothing runs while nobody asks.
type DirtyDays struct {
	*clickhouse.Pool

	now    func() time.Time
	flight singleflight.Group

	mu     sync.Mutex
	known  *dirtyList // nil before the first time
	asked  time.Time  // when known was last found to be the list as it is
	failed time.Time  // when that last failed
	err    error      // and how
}

// dirtyList is the list at one time. A day is a number of days since 1970.
type dirtyList struct {
	state  string // changes with the list
	owners map[string][]proto.Date

	mu            sync.Mutex
	organizations map[analytics.Subject][]proto.Date
}

// NewDirtyDays returns a DirtyDays for the servers of cfg; it opens no connection.
// Close closes those that it made since.
func NewDirtyDays(cfg config.ClickHouse) *DirtyDays {
	return &DirtyDays{Pool: clickhouse.NewPool(cfg), now: time.Now}
}

// DirtyDays implements analytics.DirtyDays.
func (d *DirtyDays) DirtyDays(ctx context.Context, s analytics.Subject) ([]time.Time, error) {
	list, err := d.list(ctx)
	if err != nil {
		return nil, err
	}
	days := list.owners[s.ID]
	if s.Kind == analytics.Organization {
		if days, err = d.organization(ctx, list, s); err != nil {
			return nil, err
		}
	}
	times := make([]time.Time, len(days))
	for i, day := range days {
		times[i] = day.Time().UTC()
	}
	return times, nil
}

// list returns the list, as old as it may be.
func (d *DirtyDays) list(ctx context.Context) (*dirtyList, error) {
	if list, err := d.remembered(); list != nil || err != nil {
		return list, err
	}
	// The first one's context does not end what others wait for.
	done := d.flight.DoChan("", func() (any, error) {
		if list, err := d.remembered(); list != nil || err != nil {
			return list, err // of a flight that has just ended
		}
		ask, cancel := context.WithTimeout(context.WithoutCancel(ctx), dirtyWait)
		defer cancel()
		return d.refresh(ask)
	})
	known := d.usable()
	var spare <-chan time.Time
	if known != nil {
		spare = time.After(dirtySpare)
	}
	select {
	case r := <-done:
		list, _ := r.Val.(*dirtyList)
		return list, r.Err
	case <-spare:
		return known, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the list of dirty days: %w", ctx.Err())
	}
}

// remembered returns the list if it need not be asked for, or the error if it was
// just asked for in vain. Both are nil when it has to be.
func (d *DirtyDays) remembered() (*dirtyList, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	switch {
	case d.known != nil && now.Sub(d.asked) < dirtyFresh:
		return d.known, nil
	case d.err != nil && now.Sub(d.failed) < time.Second:
		return d.orElse(now)
	}
	return nil, nil
}

// orElse is what there is while asking fails; d.mu is held.
func (d *DirtyDays) orElse(now time.Time) (*dirtyList, error) {
	if d.known != nil && now.Sub(d.asked) < dirtyStale {
		return d.known, nil
	}
	return nil, d.err
}

// usable is the list as it was, where it may be used while asking takes long; nil for none.
func (d *DirtyDays) usable() *dirtyList {
	d.mu.Lock()
	defer d.mu.Unlock()
	list, _ := d.orElse(d.now())
	return list
}

// refresh looks whether the list has changed since, and reads it if so.
func (d *DirtyDays) refresh(ctx context.Context) (*dirtyList, error) {
	began := d.now()
	d.mu.Lock()
	list := d.known
	d.mu.Unlock()
	state, err := d.state(ctx)
	switch {
	case err != nil:
	case list == nil || state != list.state:
		list, err = d.read(ctx, state)
	default:
		// Its organizations may have new owners.
		list = &dirtyList{state: state, owners: list.owners, organizations: map[analytics.Subject][]proto.Date{}}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.failed, d.err = d.now(), fmt.Errorf("reading the list of dirty days: %w", err)
		return d.orElse(d.failed)
	}
	d.known, d.asked, d.err = list, began, nil
	return list, nil
}

// state names the parts of the table, of which every insert and every merge makes
// new ones.
func (d *DirtyDays) state(ctx context.Context) (state string, err error) {
	err = d.Use(ctx, func(c *clickhouse.Client) error {
		found, err := clickhouse.Texts(ctx, c,
			"SELECT arrayStringConcat(arraySort(groupArray(concat(name, ' ', toString(modification_time)))), ', ')\n"+
				"FROM system.parts WHERE active AND database = currentDatabase() AND table = '"+schema.RollupDirty.Name+"'")
		if err != nil {
			return err
		}
		if len(found) != 1 {
			return clickhouse.ErrOneRow
		}
		state = found[0]
		return nil
	})
	return state, err
}

func (d *DirtyDays) read(ctx context.Context, state string) (*dirtyList, error) {
	list := &dirtyList{
		state: state, owners: map[string][]proto.Date{}, organizations: map[analytics.Subject][]proto.Date{},
	}
	var owners proto.ColStr
	var days proto.ColArr[proto.Date]
	var raw proto.ColDate
	days.Data = &clickhouse.Dates{ColDate: &raw}
	err := d.Use(ctx, func(c *clickhouse.Client) error {
		return c.Do(ctx, ch.Query{
			Body: "SELECT CAST(owner_id, 'String') AS owner, arraySort(groupArray(event_date)) AS all " +
				schema.FromDirtyDays + " GROUP BY owner",
			Settings: clickhouse.Modest,
			Result:   proto.Results{{Name: "owner", Data: &owners}, {Name: "all", Data: &days}},
			OnResult: func(context.Context, proto.Block) error {
				for i := range owners.Rows() {
					list.owners[owners.Row(i)] = slices.Clone(days.Row(i))
				}
				return nil
			},
		})
	})
	return list, err
}

// organization returns the days of an organization's owners.
func (d *DirtyDays) organization(ctx context.Context, list *dirtyList, s analytics.Subject) ([]proto.Date, error) {
	if len(list.owners) == 0 {
		return nil, nil
	}
	list.mu.Lock()
	days, ok := list.organizations[s]
	list.mu.Unlock()
	if ok {
		return days, nil
	}
	owners, err := d.owners(ctx, s.ID)
	if err != nil {
		return nil, fmt.Errorf("reading the owners of organization %s: %w", s.ID, err)
	}
	for _, owner := range append(s.Owners(owners), s.ID) {
		days = append(days, list.owners[owner]...)
	}
	slices.Sort(days)
	days = slices.Compact(days)
	list.mu.Lock()
	defer list.mu.Unlock()
	list.organizations[s] = days
	return days, nil
}

// owners are those that an organization has had events of.
func (d *DirtyDays) owners(ctx context.Context, organizationID string) (all []string, err error) {
	var owners proto.ColStr
	err = d.Use(ctx, func(c *clickhouse.Client) error {
		return c.Do(ctx, ch.Query{
			Body: "SELECT DISTINCT CAST(owner_id, 'String') AS owner FROM usage_1d WHERE organization_id = " +
				"{organization:String}",
			Parameters: []proto.Parameter{clickhouse.TextParameter("organization", organizationID)},
			Result:     proto.Results{{Name: "owner", Data: &owners}},
			OnResult: func(context.Context, proto.Block) error {
				for i := range owners.Rows() {
					all = append(all, owners.Row(i))
				}
				return nil
			},
		})
	})
	return all, err
}
