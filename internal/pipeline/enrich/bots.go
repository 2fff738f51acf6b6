package enrich

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

// The kinds of bots.
const (
	BotCrawler     = "crawler"      // of search engines, archives of science and others that read the web
	BotAICrawler   = "ai_crawler"   // collects what models are taught with, or what they search in
	BotAIAssistant = "ai_assistant" // acts at somebody's word: fetches a page, or works a browser
	BotPreview     = "preview"      // makes the preview of a link
	BotMonitor     = "monitor"      // checks whether and how fast a page answers
	BotFeed        = "feed"         // reads feeds
	BotArchiver    = "archiver"     // keeps copies of pages
	BotAdvertising = "advertising"  // checks pages for advertisers
	BotScanner     = "scanner"      // looks for weaknesses
	BotSEO         = "seo"          // collects links and ranks
)

// crawlersTSV is the list of crawlers; tools/enrichdata makes it.
//
//go:embed data/crawlers.tsv
var crawlersTSV string

// bot is one text by which a bot is known.
type bot struct {
	kind   string
	text   string
	where  string                // "^" at the beginning of the agent, "$" at its end, else empty
	also   func() *regexp.Regexp // must match besides; nil for none
	weight int                   // of several bots in one agent the heaviest counts
}

// name returns what the bot is called: its text without what only marks its end.
func (c *bot) name() string { return strings.Trim(strings.TrimPrefix(c.text, "https://"), " ;()-/") }

// bots finds bots in user agents. Each place of an agent is looked at once: its
// first three bytes lead to the few texts that begin with them.
type bots struct {
	list  []bot
	first [1 << triples]uint16 // one more than the place in list of the first text of a hash; 0 for none
	next  []uint16             // by the place in list, the same for the one after it
}

// triples is the number of bits of the hash of three bytes.
const triples = 13

// ownWeight puts aiAgents before the list, whatever their length.
const ownWeight = 1 << 10

func triple(text string, i int) int {
	n := uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16
	return int(n * 0x9E3779B1 >> (32 - triples))
}

// knownBots is built when the first agent is looked at.
var knownBots = sync.OnceValue(func() *bots {
	list := make([]bot, 0, len(aiAgents)+strings.Count(crawlersTSV, "\n"))
	for _, b := range aiAgents {
		b.weight = ownWeight
		list = append(list, b)
	}
	for line := range strings.Lines(crawlersTSV) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(f) >= 3 {
			b := bot{kind: f[0], where: f[1], text: f[2]}
			if len(f) > 3 {
				b.also = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(f[3]) })
			}
			list = append(list, b)
		}
	}
	return newBots(list)
})

func newBots(list []bot) *bots {
	b := &bots{list: list, next: make([]uint16, len(list))}
	for i := range list {
		list[i].weight += len(list[i].text)
		h := triple(list[i].text, 0)
		b.next[i], b.first[h] = b.first[h], uint16(i+1)
	}
	return b
}

// find returns the bot of an agent, or nil. Of several it is the one of aiAgents,
// and of those left the one with the longest text.
func (b *bots) find(agent string) *bot {
	var best *bot
	for i := 0; i+3 <= len(agent); i++ {
		for n := b.first[triple(agent, i)]; n != 0; n = b.next[n-1] {
			if c := &b.list[n-1]; (best == nil || c.weight > best.weight) && c.is(agent, i) {
				best = c
			}
		}
	}
	return best
}

// is reports whether the bot's text stands at place i of the agent, and all else
// that is asked for is true.
func (c *bot) is(agent string, i int) bool {
	if !strings.HasPrefix(agent[i:], c.text) ||
		strings.HasPrefix(c.where, "^") && i != 0 ||
		strings.HasSuffix(c.where, "$") && i+len(c.text) != len(agent) {
		return false
	}
	return c.also == nil || c.also().MatchString(agent)
}
