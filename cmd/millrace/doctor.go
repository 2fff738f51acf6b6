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
		Short: "Check an installation's setup, and report problems with their fixes",
		Long: `Checks the settings and every server, file and address that they name, as the daemons
would use them: files and certificates, folders, listen addresses, public addresses and
proxies; the brokers, topics and permissions of Kafka; the tables, grants, disks and
guarantees of ClickHouse; the schema and grants of the metadata store; Redis; and the
clock of every server. It changes nothing, and ends within 15 seconds even if servers are
unavailable.

Run it with the daemons' settings, on the machine where they run. Each finding states the
problem, why it matters and how to fix it. It exits with 0 when no check fails, and with
1 when a check fails.`,
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
				return errors.New("some checks failed, see above")
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.Var(&f.roles, "role",
		"check only what this `DAEMON` needs: ingest-edge, sink or query; may be repeated")
	flags.BoolVar(&f.all, "all", false, "also print the checks that passed")
	flags.BoolVar(&f.json, "json", false, "print one JSON object with all findings")
	return cmd
}

// rolesFlag is the value of --role.
type rolesFlag []doctor.Role

// Set adds daemons.
func (r *rolesFlag) Set(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(doctor.Roles, doctor.Role(name)) {
			return fmt.Errorf("%q must be ingest-edge, sink or query", name)
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
			Why: "no daemon starts with these settings",
			Do:  `correct the setting; "millrace config reference" explains all of them`,
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
	_, err := fmt.Fprintf(out, "%d passed, %d warnings, %d failures\n",
		counts[doctor.OK], counts[doctor.Warn], counts[doctor.Fail])
	return err
}
