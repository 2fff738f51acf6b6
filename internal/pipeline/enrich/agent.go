package enrich

import (
	"hash/maphash"

	"github.com/dgraph-io/ristretto/v2"
	"github.com/mileusna/useragent"
)

// Agent is what a user agent says. Every text is one of the tables of this
// package, or a number of a version; an Agent that was read is shared and must
// not be changed. What is not known is empty.
type Agent struct {
	Browser        string // such as "Chrome"; of a library or an app its name
	BrowserVersion string // such as "126" or "17.4"
	OS             string // such as "Windows"
	OSVersion      string
	Device         string // one of the devices; empty when there is no user agent
	// Bot is the name of a declared crawler or AI agent, and BotKind what kind it
	// is; both are empty for everybody else.
	Bot, BotKind string
}

// The kinds of devices.
const (
	Desktop = "desktop"
	Mobile  = "mobile"
	Tablet  = "tablet"
	TV      = "tv"
	Console = "console"
	// OtherDevice is whatever does not say: servers, scripts and bots.
	OtherDevice = "other"
)

// MaxAgentLen is how much of a user agent is looked at, in bytes.
const MaxAgentLen = 1024

// maxAgentParts is how many parts the agents have that are parsed: one with more
// is no browser's, and would only cost time.
const maxAgentParts = 64

// Agents reads user agents and remembers them. It is safe for concurrent use.
type Agents struct {
	seed  maphash.Seed
	known *ristretto.Cache[uint64, *knownAgent]
}

type knownAgent struct {
	text  string
	agent Agent
}

// agentCost is about what one entry takes besides its text, in bytes.
const agentCost = 320

var noAgent Agent

// NewAgents returns a reader that remembers agents in about size bytes. Its
// goroutine ends with Close.
func NewAgents(size int) *Agents {
	size = max(size, 64<<10)
	known, err := ristretto.NewCache(&ristretto.Config[uint64, *knownAgent]{
		NumCounters: int64(size / agentCost * 10), MaxCost: int64(size), BufferItems: 64, IgnoreInternalCost: true,
	})
	if err != nil {
		panic(err) //nolint:forbidigo // only for a figure out of range, which size is not
	}
	return &Agents{seed: maphash.MakeSeed(), known: known}
}

// Close ends the cache's goroutine. Of must not be called after it.
func (a *Agents) Close() { a.known.Close() }

// Of returns what a user agent says. It does not keep userAgent, and allocates
// nothing for one that it remembers.
func (a *Agents) Of(userAgent []byte) *Agent {
	if len(userAgent) == 0 {
		return &noAgent
	}
	userAgent = userAgent[:min(len(userAgent), MaxAgentLen)]
	hash := maphash.Bytes(a.seed, userAgent)
	if k, ok := a.known.Get(hash); ok && k.text == string(userAgent) {
		return &k.agent
	}
	text := string(userAgent)
	k := &knownAgent{text: text, agent: parseAgent(text)}
	a.known.Set(hash, k, int64(len(text)+agentCost))
	return &k.agent
}

// parseAgent reads an agent of at most MaxAgentLen bytes.
func parseAgent(text string) Agent {
	var a Agent
	if b := knownBots().find(text); b != nil {
		return Agent{Bot: b.name(), BotKind: b.kind, Device: OtherDevice}
	}
	if row := find(clients, text); row != nil {
		return Agent{
			Browser: row.name, BrowserVersion: versionAfter(text, row.text), OS: clientSystemOf(text), Device: OtherDevice,
		}
	}
	if agentParts(text) > maxAgentParts {
		return Agent{Device: OtherDevice}
	}
	ua := useragent.Parse(text)
	a.Browser, a.BrowserVersion = browserOf(text, &ua)
	a.OS, a.OSVersion = systemOf(text, &ua)
	a.Device = deviceOf(text, &ua, a.OS)
	return a
}

func agentParts(text string) int {
	n := 0
	for i := range len(text) {
		switch text[i] {
		case ';', '(', ')', '/', '[', ']':
			n++
		}
	}
	return n
}
