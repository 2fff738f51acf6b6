package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/platform/config"
)

// listedLetters is how many letters are listed unless --limit says otherwise.
const listedLetters = 100

func newDLQList() *cobra.Command {
	var f dlqFlags
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List dead letters, with a summary by reason",
		Long: `Lists the letters that were neither sent again nor parked, oldest first within a
partition, and counts the selected letters by reason. A letter that is in its topic twice
is listed once.`,
		Example: `  millrace dlq ls
  millrace dlq ls --reason refused --website web_01JD… --since 24h
  millrace dlq ls --parked
  millrace dlq ls --all --limit 0 --json | jq .error`,
		Args: cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) error {
			filter, err := f.filter(time.Now())
			if err != nil {
				return err
			}
			service, _, err := deadLetterService(cmd, s, false)
			if err != nil {
				return err
			}
			l := newLetterList(cmd.OutOrStdout(), f.limit, f.json)
			err = service.List(cmd.Context(), filter,
				func(letter *deadletter.Letter, state deadletter.State, problem error) error {
					if f.all || f.parked == (state == deadletter.StateParked) && state != deadletter.StateReplayed {
						return l.add(letter, state, problem)
					}
					return nil
				})
			return errors.Join(l.finish(), err)
		}),
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.limit, "limit", listedLetters, "list at most this `NUMBER` of letters; 0 lists all")
	flags.BoolVar(&f.json, "json", false, "print a JSON object for each letter, without the summary")
	flags.BoolVar(&f.parked, "parked", false, "list the parked letters instead")
	flags.BoolVar(&f.all, "all", false, "also list the letters that were sent again or parked")
	return cmd
}

// letterList prints letters.
type letterList struct {
	out    io.Writer
	table  *tabwriter.Writer
	limit  int
	json   bool
	count  map[string]int // per reason
	listed int
	bad    []string // what is not understood
}

func newLetterList(out io.Writer, limit int, asJSON bool) *letterList {
	return &letterList{
		out: out, table: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0), limit: limit, json: asJSON, count: map[string]int{},
	}
}

func (p *letterList) add(l *deadletter.Letter, state deadletter.State, problem error) error {
	p.count[string(l.Reason)+" "+string(state)]++
	if problem != nil {
		p.bad = append(p.bad, fmt.Sprintf("%s: %s", deadletter.FormatPosition(l.Position), oneLine([]byte(problem.Error()))))
	}
	if p.limit > 0 && p.listed == p.limit {
		return nil
	}
	p.listed++
	if p.json {
		return json.NewEncoder(p.out).Encode(letterJSON(l, state))
	}
	if p.listed == 1 {
		fmt.Fprintln(p.table, "POSITION\tREASON\tSTATE\tSOURCE\tHOPS\tFIRST SEEN\tWEBSITE\tERROR")
	}
	_, err := fmt.Fprintf(p.table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n",
		deadletter.FormatPosition(l.Position), printable(string(l.Reason)), state,
		printable(deadletter.FormatPosition(l.Source)), l.Hops, l.FirstSeen.Format(time.RFC3339),
		printable(l.Website()), printable(l.Error))
	return err
}

// finish prints the summary, and returns what was not understood.
func (p *letterList) finish() error {
	if !p.json {
		if err := p.table.Flush(); err != nil {
			return err
		}
		total := 0
		for _, n := range p.count {
			total += n
		}
		fmt.Fprintf(p.out, "%d letters, %d listed\n", total, p.listed)
		for _, what := range slices.Sorted(maps.Keys(p.count)) {
			fmt.Fprintf(p.out, "  %s: %d\n", printable(what), p.count[what])
		}
	}
	if len(p.bad) == 0 {
		return nil
	}
	const shown = 5
	return fmt.Errorf("%d letters cannot be decoded:\n%s", len(p.bad), strings.Join(p.bad[:min(shown, len(p.bad))], "\n"))
}

// jsonLetter is a letter as --json prints it.
type jsonLetter struct {
	Position     string    `json:"position"`
	At           time.Time `json:"at"`
	State        string    `json:"state"`
	Reason       string    `json:"reason"`
	Class        string    `json:"class"`
	Error        string    `json:"error"`
	Source       string    `json:"source"`
	Hops         int       `json:"hops"`
	FirstSeen    time.Time `json:"firstSeen"`
	Trace        []string  `json:"trace,omitempty"`
	Website      string    `json:"website,omitempty"`
	Organization string    `json:"organization,omitempty"`
}

func letterJSON(l *deadletter.Letter, state deadletter.State) jsonLetter {
	return jsonLetter{
		Position: deadletter.FormatPosition(l.Position), At: l.At.UTC(), State: string(state), Reason: string(l.Reason),
		Class: string(l.Class),
		Error: l.Error, Source: deadletter.FormatPosition(l.Source), Hops: l.Hops, FirstSeen: l.FirstSeen, Trace: l.Trace,
		Website: l.Website(), Organization: l.Organization(),
	}
}

func newDLQShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show POSITION",
		Short: "Show a dead letter in full: reason, history, headers and value",
		Long: `Shows the letter at a position, as "dlq ls" prints it. Bytes that are not readable text
are shown in hexadecimal. The value may contain personal data.`,
		Example: `  millrace dlq show events.v1.dlq/3/1041`,
		Args:    cobra.ExactArgs(1),
		RunE: withSettings(func(cmd *cobra.Command, args []string, s config.Settings) error {
			at, err := parsePosition(args[0])
			if err != nil {
				return err
			}
			service, _, err := deadLetterService(cmd, s, false)
			if err != nil {
				return err
			}
			return service.Show(cmd.Context(), at, func(l *deadletter.Letter, state deadletter.State, problem error) error {
				return errors.Join(showLetter(cmd.OutOrStdout(), l, state), problem)
			})
		}),
	}
}

func showLetter(out io.Writer, l *deadletter.Letter, state deadletter.State) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"position", deadletter.FormatPosition(l.Position)},
		{"written", l.At.UTC().Format(time.RFC3339Nano)},
		{"state", string(state)},
		{"reason", string(l.Reason) + " (" + string(l.Class) + ")"},
		{"error", l.Error},
		{"source", deadletter.FormatPosition(l.Source)},
		{"hops", strconv.Itoa(l.Hops)},
		{"first seen", l.FirstSeen.Format(time.RFC3339Nano)},
	} {
		fmt.Fprintf(w, "%s\t%s\n", row[0], printable(row[1]))
	}
	if l.Cut != "" {
		fmt.Fprintf(w, "truncated from\t%s\n", printable(l.Cut))
	}
	for i, earlier := range l.Trace {
		fmt.Fprintf(w, "letter %d\t%s\n", i+1, printable(earlier))
	}
	for _, h := range l.Headers {
		fmt.Fprintf(w, "header %s\t%s\n", printable(h.Key), readableBytes(h.Value))
	}
	fmt.Fprintf(w, "key\t%s\n", readableBytes(l.Key))
	fmt.Fprintf(w, "value\t%s\n", readableBytes(l.Value))
	return w.Flush()
}

// readableBytes returns text as it is, and anything else in hexadecimal.
func readableBytes(b []byte) string {
	if utf8.Valid(b) && printable(string(b)) == string(b) {
		return string(b)
	}
	return fmt.Sprintf("0x%s (%d bytes)", hex.EncodeToString(b), len(b))
}

// printable keeps what others wrote from moving the cursor or the columns.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, s)
}
