package status

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Print writes the screen.
func (s *Status) Print(out io.Writer) error {
	w := &strings.Builder{}
	fmt.Fprintf(w, "%s  millrace %s  %s\n", strings.ToUpper(string(s.State)), s.Millrace, s.At.Format(time.RFC3339))
	for _, a := range s.Attention {
		fmt.Fprintln(w, "  !", a)
	}
	for _, u := range s.Unknown {
		fmt.Fprintln(w, "  ? unknown:", u)
	}
	s.printKafka(w)
	if l := s.Ledger; l != nil {
		fmt.Fprintf(w, "\nledger      %d partitions, %d offsets not checked yet, %d missing, %d in two entries, %d lost\n",
			l.Partitions, l.Unchecked, l.Gaps, l.Overlaps, l.Lost)
	}
	s.printClickHouse(w)
	if st := s.Store; st != nil {
		fmt.Fprintf(w, "store       %s, schema %d of %d, %d quotas (%d exceeded%s), %d erasures open\n",
			st.Version, st.Schema, st.Known, st.Quotas, st.Exceeded, counted(st.CountedAgo), st.Erasures)
	}
	for _, d := range s.Daemons {
		fmt.Fprintf(w, "daemon      %s %s at %s: %s\n", d.Name, d.Version, d.Addr, d.Detail)
	}
	_, err := io.WriteString(out, w.String())
	return err
}

func counted(ago Seconds) string {
	if ago == 0 {
		return ""
	}
	return ", counted " + age(ago) + " ago"
}

func (s *Status) printKafka(w io.Writer) {
	if s.Kafka == nil {
		return
	}
	say(w, "\nkafka       %s, %d brokers\n", cmp.Or(s.Kafka.Version, "unknown version"), s.Kafka.Brokers)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	say(t, "TOPIC\tPARTITIONS\tREPLICAS\tRECORDS\tSINKS\tLAG\tOLDEST\tPLANS\tOLDEST\tWINDOW\t\n")
	for i := range s.Kafka.Topics {
		k := &s.Kafka.Topics[i]
		say(t, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%d\t%s\t%s\t\n", k.Name, k.Partitions, k.Replicas, k.Held, k.Members,
			k.Lag, age(k.LagSeconds), k.OpenPlans, age(k.OldestPlan), age(k.Coverage))
	}
	t.Flush() //nolint:errcheck // into memory
}

// age is a duration to two figures; - for none.
func age(s Seconds) string {
	d := s.Duration()
	switch {
	case d <= 0:
		return "-"
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

func (s *Status) printClickHouse(w io.Writer) {
	c := s.ClickHouse
	if c == nil {
		return
	}
	say(w, "clickhouse  %s, %d of %d migrations", c.Version, c.Migrations.Applied-c.Migrations.Newer, c.Migrations.Known)
	if c.Migrations.Newer > 0 {
		say(w, " and %d newer", c.Migrations.Newer)
	}
	for _, d := range c.Disks {
		if d.Size > 0 {
			say(w, ", disk %s %.0f %% free", d.Name, 100*float64(d.Free)/float64(d.Size))
		}
	}
	dirty := 0
	for _, n := range c.Dirty {
		dirty += n
	}
	say(w, ", %d days without rollups\n", dirty)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	say(t, "TABLE\tROWS\tMIB\tPARTS\tMOST IN ONE\t\n")
	tables := slices.Clone(c.Tables)
	slices.SortFunc(tables, func(a, b tableState) int { return int(b.Bytes - a.Bytes) })
	for _, table := range tables[:min(len(tables), shown)] {
		say(t, "%s\t%d\t%.1f\t%d\t%d\t\n", table.Name, table.Rows, float64(table.Bytes)/(1<<20), table.Parts, table.Crowded)
	}
	t.Flush() //nolint:errcheck // into memory
	if more := len(tables) - shown; more > 0 {
		say(w, "  and %d smaller tables (--json lists all)\n", more)
	}
}

// shown is how many tables a screen has room for.
const shown = 10

// say writes into memory, which does not fail.
func say(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, format, args...) //nolint:errcheck // see above
}
