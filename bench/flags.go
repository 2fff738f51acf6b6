package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// manyFlags is how many flags a set has, all of which a bulk answers with.
const manyFlags = 100

// The routes of flags that are measured.
const (
	oneFlagRoute   = "evaluate"
	manyFlagsRoute = "bulk"
)

// flagMeasures are about the public routes of feature flags.
var flagMeasures = []*measure{
	{
		name: "flagcore", role: "flagcore", batch: 1, unit: "flags/s", run: alone,
		help: "one flag of 10 rules of 3 conditions evaluated, of which the last serves; no host",
	},
	{
		name: "flagcore100", role: "flagcore", batch: manyFlags, unit: "req/s", run: alone,
		help: "100 such flags evaluated for one person; no host",
	},
	{
		name: "bareflag", role: "bareflags", batch: 1, flags: oneFlagRoute, unit: "req/s", run: underLoad,
		help: "bare fiber with the answer of evaluate",
	},
	{
		name: "flag", role: "flags", batch: 1, flags: oneFlagRoute, unit: "req/s", run: underLoad,
		help: "evaluate: one such flag of a hundred, by client id",
	},
	{
		name: "bareflags", role: "bareflags", batch: 1, flags: manyFlagsRoute, unit: "req/s", run: underLoad,
		help: "bare fiber with the answer of bulk",
	},
	{
		name: "flags", role: "flags", batch: 1, flags: manyFlagsRoute, unit: "req/s", run: underLoad,
		help: "bulk: a hundred such flags, by client id",
	},
	{
		name: "flaghalf", role: "changingflags", batch: 1, flags: oneFlagRoute, unit: "req/s", run: openFlags,
		help: "evaluate at half of its peak, at fixed moments, while the set changes ten times a second",
	},
	{
		name: "flagshalf", role: "changingflags", batch: 1, flags: manyFlagsRoute, unit: "req/s", run: openFlags,
		help: "bulk likewise",
	},
	{
		name: "bareflaghalf", role: "bareflags", batch: 1, flags: oneFlagRoute, unit: "req/s", run: openFlags,
		help: "bare fiber with the answer of evaluate, at half of its peak, at fixed moments",
	},
	{name: "bareflagp99", unit: "ms", help: "p99 of that, which is the load's and fiber's own"},
	{name: "flagp99", unit: "ms", help: "p99 of evaluate, from the moment at which a request was to be sent"},
	{name: "flagsp99", unit: "ms", help: "p99 of bulk"},
	{name: "flagp99allowed", unit: "ms", help: "allowed for the first"},
	{name: "flagsp99allowed", unit: "ms", help: "for the second"},
}

// flagRatios are what must hold of them.
var flagRatios = []ratio{
	{"F1", "flagcore", "=500000", 1, "flags evaluated against one in 2 µs, 10 rules of 3 conditions"},
	{"F2", "flag", "bareflag", 0.50, "evaluate against bare fiber with an equal answer"},
	{
		"F3", "flags", "bareflags+flagcore100", 0.70,
		"bulk of 100 flags against bare fiber with an equal answer and then 100 evaluations",
	},
	{
		"F4", "flagp99allowed", "flagp99", 1,
		"p99 allowed against that of evaluate at half of its peak, the set changing ten times a second",
	},
	{"F4", "flagsp99allowed", "flagsp99", 1, "the same of bulk"},
}

// flagsAllowed are the limits of what openFlags measures, in milliseconds.
var flagsAllowed = map[string]float64{"flagp99": 2, "flagsp99": 5}

// openFlags finds the peak of a host, then asks half as much of it at fixed moments.
func openFlags(ctx context.Context, m *measure, e *surroundings) (r result, err error) {
	server, err := spawn(ctx, coreMeasured, e.job(m))
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, server.end()) }()
	peak, err := saturate(ctx, server, m, e.settings)
	if err != nil {
		return result{}, err
	}
	return loop(ctx, coreAround, job{
		Role: "spinning", Addr: server.Addr, Batch: 1, Flags: m.flags, For: latencyRun,
		Rate: int(peak.Events / peak.Seconds / 2),
	})
}

// benchFlag is a flag whose first nine rules are for other teams, and the last one a split.
func benchFlag(n int) flageval.Definition {
	d := flageval.Definition{
		Key: fmt.Sprintf("flag-%03d", n), Active: true, DefaultVariant: "old", OffVariant: "old",
		Variants: []flageval.Variant{
			{Key: "old", Value: []byte(`"v1"`)}, {Key: "new", Value: []byte(`"v2"`), Payload: []byte(`{"color":"red"}`)},
		},
	}
	for rule := range 10 {
		d.Rules = append(d.Rules, flageval.Rule{
			Conditions: &flageval.Conditions{All: []flageval.Condition{
				{Attribute: "email", Op: flageval.OpEndsWith, Values: []any{"@shop.example.com"}},
				{Attribute: "organizationId", Op: flageval.OpIn, Values: []any{"acme", "globex", "initech"}},
				{Attribute: "teamId", Op: flageval.OpEq, Values: []any{fmt.Sprint("team-", rule)}},
			}},
			Serve: flageval.Serve{Split: &[]flageval.Share{{Variant: "old", Weight: 50}, {Variant: "new", Weight: 50}}},
		})
	}
	return d
}

// benchPerson is for whom flags are evaluated.
var benchPerson = flageval.Context{
	UserID: "user-4711", Email: "ann@shop.example.com", OrganizationID: "initech", TeamID: "team-9",
}

// flagTarget is what is asked of a route for benchPerson.
func flagTarget(route string) string {
	p := &benchPerson
	target := fmt.Sprintf("/public/v1/flags/%s?clientId=%s&userId=%s&email=%s&organizationId=%s&teamId=%s",
		route, benchWebsite, p.UserID, p.Email, p.OrganizationID, p.TeamID)
	if route == oneFlagRoute {
		target += "&key=" + benchFlag(manyFlags/2).Key
	}
	return target
}

// flagRequest is a request as bytes.
func flagRequest(addr, route string) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", flagTarget(route), addr, visitorHeaders)
}

// loopFlagCore measures how often a second one core evaluates a job's batch of flags.
func loopFlagCore(_ context.Context, j job, say func(result) error) error {
	members := make([]flageval.Member[flageval.Definition], j.Batch)
	for i := range members {
		members[i].Is = new(benchFlag(i))
	}
	set, err := flageval.Compile(members, nil)
	if err != nil {
		return err
	}
	flags := make([]*flageval.Flag, j.Batch)
	for i := range flags {
		flags[i] = set.Flag("", members[i].Is.Key)
	}
	var e flageval.Evaluator
	at := time.Now()
	return j.repeat(say, func() error {
		e.Begin(context.Background())
		e.Reset(set, &benchPerson, "", at)
		for _, f := range flags {
			r, err := e.Evaluate(f)
			if err != nil {
				return err
			}
			if r.Reason != flageval.BySplit {
				return fmt.Errorf("%s serves by %s", f.Definition.Key, r.Reason)
			}
		}
		return nil
	})
}
