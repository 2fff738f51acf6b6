package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/app/doctor"
	"github.com/millrace/millrace/internal/app/standalone"
	"github.com/millrace/millrace/internal/platform/config"
)

// doctorFlags are the flags of `millrace doctor`.
type doctorFlags struct {
	roles rolesFlag
	all   bool
	json  bool
}

func newDoctor() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong with an installation, and what to do about it",
		Long: `Looks at the settings and at everything they name, as the daemons would meet it:
files and certificates, folders, listen addresses, public addresses and proxies,
Kafka's brokers, topics and permissions, ClickHouse's tables, rights, disks and
guarantees, the metadata store's schema and rights, Redis, and every server's
clock. It changes nothing, and ends within a quarter of a minute whatever is away.

Run it with the settings of the daemons, where they run. Each finding says what
is wrong, why it matters and what to do. It ends with 0 when nothing fails, with 1
when something does.`,
		Example: `  millrace doctor
  millrace doctor --config.file millrace.yaml --role sink
  millrace doctor --all
  millrace doctor --json | jq '.findings[] | select(.level != "ok")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report := f.look(cmd)
			if err := f.print(cmd.OutOrStdout(), report); err != nil {
				return err
			}
			if report.Worst() == doctor.Fail {
				return errors.New("something is wrong, see above")
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.Var(&f.roles, "role",
		"only what this `DAEMON` needs: ingest-edge, sink or query; may be given more than once")
	flags.BoolVar(&f.all, "all", false, "also tell what is in order")
	flags.BoolVar(&f.json, "json", false, "print one JSON object with all findings")
	return cmd
}

// rolesFlag is the value of --role.
type rolesFlag []doctor.Role

// Set adds daemons.
func (r *rolesFlag) Set(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(doctor.Roles, doctor.Role(name)) {
			return fmt.Errorf("%q is no daemon; they are ingest-edge, sink and query", name)
		}
		*r = append(*r, doctor.Role(name))
	}
	return nil
}

// String returns them as they are given.
func (r *rolesFlag) String() string {
	var names []string
	for _, role := range *r {
		names = append(names, string(role))
	}
	return strings.Join(names, ",")
}

// Type is what help calls it.
func (*rolesFlag) Type() string { return "daemon" }

// look runs the doctor; settings that cannot be used are all there is to tell.
func (f *doctorFlags) look(cmd *cobra.Command) *doctor.Report {
	o := doctor.Options{Roles: f.roles}
	s, _, err := settingsOf(cmd)
	if err != nil && !errors.Is(err, errShown) {
		return unusable(err)
	}
	o.Embedded = embedded(&s)
	o.Settings = standalone.Local(s)
	return doctor.Run(cmd.Context(), o)
}

// embedded reports whether standalone mode would bring a backend along.
func embedded(s *config.Settings) bool {
	return len(s.Kafka.Brokers) == 0 || len(s.ClickHouse.Addr) == 0 || !s.Store.IsSet()
}

func unusable(err error) *doctor.Report {
	r := &doctor.Report{}
	for line := range strings.Lines(err.Error()) {
		r.Findings = append(r.Findings, doctor.Finding{
			Check: "settings", Level: doctor.Fail, What: strings.TrimSpace(line),
			Why: "no daemon starts with such settings", Do: `correct it; "millrace config reference" explains every setting`,
		})
	}
	return r
}

func (f *doctorFlags) print(out io.Writer, r *doctor.Report) error {
	if f.json {
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		return e.Encode(r)
	}
	counts := map[doctor.Level]int{}
	for _, finding := range r.Findings {
		counts[finding.Level]++
		if finding.Level == doctor.OK && !f.all {
			continue
		}
		if _, err := fmt.Fprintf(out, "%-4s  %s: %s\n", finding.Level, finding.Check, finding.What); err != nil {
			return err
		}
		if finding.Level != doctor.OK {
			fmt.Fprintf(out, "      why: %s\n      do:  %s\n", finding.Why, finding.Do)
		}
	}
	_, err := fmt.Fprintf(out, "%d in order, %d warnings, %d failures\n",
		counts[doctor.OK], counts[doctor.Warn], counts[doctor.Fail])
	return err
}
