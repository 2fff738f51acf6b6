package main

import "context"

// connections is how many a load has. Few carry the largest bodies: the server
// bounds what it takes at once. More are needed where each waits for the broker with one
// event: with 64 the measured core is idle for a third of the time.
const (
	connections        = 64
	waitingConnections = 128
	largeConnections   = 4
	largeBatch         = 1000
)

// saturate sends requests to a server for some time, from the other core: a closed loop over
// connections that are never idle, which is right for a server's peak and for nothing else.
// It returns events and processor time of the server. What a measure and its limit are
// compared by is the same load for both.
func saturate(ctx context.Context, server *child, m *measure, s settings) (result, error) {
	before, err := server.cpuSeconds()
	if err != nil {
		return result{}, err
	}
	load := job{
		Role: "load", Addr: server.Addr, Batch: m.batch, Links: m.links, Flags: m.flags, For: s.run, Lines: m.lines(),
	}
	r, err := loop(ctx, coreAround, load)
	if err != nil {
		return result{}, err
	}
	after, err := server.cpuSeconds()
	r.CPUSeconds = after - before
	return r, err
}

// lines is how many connections the load of a measure has.
func (m *measure) lines() int {
	switch {
	case m.waits:
		return waitingConnections
	case m.batch >= largeBatch:
		return largeConnections
	}
	return connections
}
