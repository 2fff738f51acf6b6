package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/audit"
)

const (
	// listedEntries is how many entries are listed unless --limit says otherwise.
	listedEntries = 100
	// entriesAtOnce is how many are read from the store at a time.
	entriesAtOnce = 500
)

// auditFlags are the flags of `millrace audit`.
type auditFlags struct {
	filter       audit.Filter
	since, until string
	limit        int
	json         bool
}

func newAudit() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "List who changed what, newest first",
		Long: `Lists the changes of websites, keys, people and settings, newest first. It covers
every organization, and the changes that belong to no organization. Changes of a
person's own account, such as sign-ins and passwords, are listed in each organization
of that person. Entries are never changed or removed, and contain no secrets.`,
		Example: `  millrace audit --organization org_01JD…
  millrace audit --action apikey.rotated --since 24h
  millrace audit --resource key_01JD… --json | jq .changes`,
		Args: cobra.NoArgs,
		RunE: withStore(func(cmd *cobra.Command, _ []string, _ config.Settings, db *store.Store) error {
			return f.list(cmd.Context(), cmd.OutOrStdout(), db, time.Now())
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.filter.OrganizationID, "organization", "", "only changes in this organization `ID`")
	flags.StringVar(&f.filter.ResourceType, "type", "", "only changes of records of this `KIND`, such as apikey")
	flags.StringVar(&f.filter.ResourceID, "resource", "", "only changes of this record `ID`")
	flags.StringVar(&f.filter.ActorID, "actor", "", "only changes by this user or key `ID`")
	flags.StringVar(&f.filter.Action, "action", "", "only changes with this `ACTION`, such as apikey.rotated")
	flags.StringVar(&f.since, "since", "", "only changes since `WHEN`: 10m, 24h, or a time such as 2026-11-21T08:00:00Z")
	flags.StringVar(&f.until, "until", "", "only changes before `WHEN`")
	flags.IntVar(&f.limit, "limit", listedEntries, "list at most this `NUMBER` of entries; 0 lists all")
	flags.BoolVar(&f.json, "json", false, "print a JSON object for each entry")
	return cmd
}

func (f *auditFlags) list(ctx context.Context, out io.Writer, db *store.Store, now time.Time) error {
	f.filter.EveryOrganization = f.filter.OrganizationID == ""
	var err error
	if f.filter.From, err = parseWhen("--since", f.since, now); err != nil {
		return err
	}
	if f.filter.To, err = parseWhen("--until", f.until, now); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !f.json {
		fmt.Fprintln(w, "TIME\tACTION\tRECORD\tBY\tFROM\tCHANGED")
	}
	for listed := 0; ; {
		f.filter.Limit = entriesAtOnce
		if f.limit > 0 {
			f.filter.Limit = min(entriesAtOnce, f.limit-listed)
		}
		entries, err := db.AuditEntries(ctx, f.filter)
		if err != nil {
			return err
		}
		for i := range entries {
			if err := f.print(out, w, &entries[i]); err != nil {
				return err
			}
		}
		if listed += len(entries); len(entries) < f.filter.Limit || listed == f.limit {
			return w.Flush()
		}
		f.filter.Before = entries[len(entries)-1].ID
	}
}

func (f *auditFlags) print(out, table io.Writer, e *audit.Entry) error {
	if f.json {
		return json.NewEncoder(out).Encode(entryJSON(e))
	}
	_, err := fmt.Fprintf(table, "%s\t%s\t%s %s\t%s %s\t%s\t%s\n", e.At.Format(time.RFC3339), printable(e.Action),
		printable(e.ResourceID), printable(e.ResourceName), e.By.Actor.Type, printable(e.By.Actor.Name), e.By.IP,
		printable(strings.Join(slices.Sorted(maps.Keys(e.Changes)), " ")))
	return err
}

// jsonEntry is an entry as --json prints it, and as audit/list answers.
type jsonEntry struct {
	ID           string                  `json:"id"`
	At           time.Time               `json:"at"`
	Organization string                  `json:"organizationId"`
	Actor        audit.Actor             `json:"actor"`
	Action       string                  `json:"action"`
	Resource     jsonResource            `json:"resource"`
	Changes      map[string]audit.Change `json:"changes"`
	IP           string                  `json:"ip"`
	UserAgent    string                  `json:"userAgent"`
	RequestID    string                  `json:"requestId"`
}

type jsonResource struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

func entryJSON(e *audit.Entry) jsonEntry {
	return jsonEntry{
		ID: e.ID, At: e.At, Organization: e.OrganizationID, Actor: e.By.Actor, Action: e.Action,
		Resource: jsonResource{e.ResourceType, e.ResourceID, e.ResourceName}, Changes: e.Changes,
		IP: e.By.IP, UserAgent: e.By.UserAgent, RequestID: e.By.RequestID,
	}
}
