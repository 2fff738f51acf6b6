package deadletter

import "github.com/millrace/millrace/internal/contract/record"

// LetterHeaders describes what a dead letter has after the original record's
// headers, in the order of writing. All values are text.
var LetterHeaders = []record.HeaderInfo{
	{Key: HeaderReason, Help: "Why the record could not be stored.", Always: true, Example: "value"},
	{
		Key: HeaderClass, Help: "Kind of failure: undecodable, invariant or refused.", Always: true,
		Example: string(ClassUndecodable),
	},
	{Key: HeaderTopic, Help: "Topic where the record stood, without prefix.", Always: true, Example: record.TopicEvents},
	{Key: HeaderPartition, Help: "Partition where the record stood.", Pattern: `^[0-9]+$`, Always: true, Example: "3"},
	{Key: HeaderOffset, Help: "Offset where the record stood.", Pattern: `^[0-9]+$`, Always: true, Example: "1024"},
	{
		Key:     HeaderError,
		Help:    "The error, for people, at most 256 bytes.",
		Always:  true,
		Example: "decoding the value: unexpected end",
	},
	{Key: HeaderHops, Help: "How often the record had been sent again.", Pattern: `^[0-9]+$`, Always: true, Example: "0"},
	{
		Key: HeaderFirstSeen, Help: "When its first letter was written, Unix milliseconds.", Pattern: `^[0-9]+$`,
		Always: true, Example: "1795000001000",
	},
	{
		Key: HeaderCut,
		Help: "Only where the record was too large to be kept whole: bytes of its key, number of headers, bytes of its " +
			"value.",
		Pattern: `^key=[0-9]+ headers=[0-9]+ value=[0-9]+$`,
		Example: "key=30 headers=7 value=5242880",
	},
}

// ReplayHeaders describes what a record that was sent again has after its own
// headers, besides record.HeaderReplay and record.HeaderHops. The letter of such
// a record has them too.
var ReplayHeaders = []record.HeaderInfo{
	{
		Key:     HeaderTrace,
		Help:    "Earlier letters of the record, oldest first, as \"reason topic/partition/offset\", separated by commas.",
		Example: "value events.v1/3/1024",
	},
	{
		Key:     HeaderRun,
		Help:    "The replay that sent the record, and the letter's id.",
		Example: "4XJ6QGQ4N7VJX2RWQ5V5T2M3KA 9f86d081884c7d659a2feaa0c55ad015",
	},
}
