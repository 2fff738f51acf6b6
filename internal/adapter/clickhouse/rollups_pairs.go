package clickhouse

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// The pairs that a statement is about travel beside it as a table of this name.
const (
	pairsTable = "asked_pairs"
	ofPairs    = "(owner_id, event_date) IN " + pairsTable
)

func pairColumns(pairs []ledger.Touched) []proto.InputColumn {
	var owners proto.ColStr
	var days proto.ColDate
	for _, p := range pairs {
		owners.Append(p.Owner)
		days = append(days, proto.Date(p.Day))
	}
	return []proto.InputColumn{{Name: "owner_id", Data: &owners}, {Name: "event_date", Data: &days}}
}

// modest keeps a check from taking the server away from everybody else.
var modest = []ch.Setting{
	{Key: "max_threads", Value: "2", Important: true},
	{Key: "max_bytes_before_external_group_by", Value: strconv.Itoa(1 << 30), Important: true},
	// A row that a newer version replaces must not pass a filter by itself.
	{Key: "optimize_move_to_prewhere_if_final", Value: "0", Important: true},
	{Key: "use_skip_indexes_if_final", Value: "0", Important: true},
}

// pairLiterals writes pairs into a statement: a deletion takes no table beside it.
func pairLiterals(pairs []ledger.Touched) string {
	var s strings.Builder
	for i, p := range pairs {
		if i > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, "('%s', toDate('%s'))", quote.Replace(p.Owner), ledger.Date(p.Day))
	}
	return s.String()
}
