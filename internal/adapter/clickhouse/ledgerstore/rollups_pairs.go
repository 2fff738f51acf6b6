package ledgerstore

import (
	"fmt"
	"strings"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
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

// pairLiterals writes pairs into a statement: a deletion takes no table beside it.
func pairLiterals(pairs []ledger.Touched) string {
	var s strings.Builder
	for i, p := range pairs {
		if i > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, "('%s', toDate('%s'))", clickhouse.Quote.Replace(p.Owner), ledger.Date(p.Day))
	}
	return s.String()
}
