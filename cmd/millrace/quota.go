package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/quota"
)

// The words for quotas that are no number.
const (
	quotaDefault   = "default"
	quotaUnlimited = "unlimited"
)

func newOrgsQuota() *cobra.Command {
	var organization string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "quota [EVENTS|unlimited|default]",
		Short: "Show or set an organization's monthly quota of stored events",
		Long: `Shows an organization's quota and its usage in the current month (UTC), or sets the
quota: a number of events, unlimited, or default for the setting quota.default. A new
quota takes effect within a few seconds. It has no effect if billing.url is set, because
that service decides instead.`,
		Example: `  millrace orgs quota --organization org_01JD…
  millrace orgs quota 1000000 --organization org_01JD… --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: withStore(func(cmd *cobra.Command, args []string, s config.Settings, db *store.Store) error {
			id, err := organizationOf(cmd.Context(), db, organization)
			if err != nil {
				return err
			}
			quotas := quota.NewService(quota.Config{Default: int64(s.Quota.Default), Off: s.Billing.URL != ""}, db, nil, nil)
			var standing *quota.Standing
			if len(args) == 0 {
				standing, err = quotas.Of(cmd.Context(), id)
			} else {
				var events int64
				if events, err = parseQuota(args[0]); err == nil {
					standing, err = quotas.Set(cmd.Context(), operator(), id, events)
				}
			}
			if err != nil {
				return told(err)
			}
			return printQuota(cmd, standing, asJSON)
		}),
	}
	organizationFlag(cmd, &organization)
	jsonFlag(cmd, &asJSON)
	return cmd
}

var errQuota = errors.New("the quota must be a number of events, unlimited or default")

func parseQuota(text string) (int64, error) {
	switch text {
	case quotaDefault:
		return quota.Default, nil
	case quotaUnlimited:
		return quota.Unlimited, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q: %w", text, errQuota)
	}
	return n, nil
}

// listedQuota is a quota as --json prints it.
type listedQuota struct {
	OrganizationID string     `json:"organizationId"`
	MonthlyEvents  *int64     `json:"monthlyEvents"` // null for unlimited
	Own            bool       `json:"own"`           // false where quota.default holds
	Month          string     `json:"month"`
	UsedEvents     int64      `json:"usedEvents"`
	Exceeded       bool       `json:"exceeded"`
	CountedAt      *time.Time `json:"countedAt"` // null when nothing was counted this month
}

func printQuota(cmd *cobra.Command, s *quota.Standing, asJSON bool) error {
	if asJSON {
		q := listedQuota{
			OrganizationID: s.OrganizationID, Own: s.Own != quota.Default, Month: string(s.Month), UsedEvents: s.Used,
			Exceeded: s.Exceeded,
		}
		if s.Events != quota.Unlimited {
			q.MonthlyEvents = &s.Events
		}
		if !s.CountedAt.IsZero() {
			q.CountedAt = &s.CountedAt
		}
		return printRecord(cmd, q)
	}
	of := quotaUnlimited
	if s.Events != quota.Unlimited {
		of = strconv.FormatInt(s.Events, 10)
	}
	if s.Own == quota.Default {
		of += " (by default)"
	}
	counted := "not counted yet"
	if !s.CountedAt.IsZero() {
		counted = fmt.Sprintf("%d counted at %s", s.Used, s.CountedAt.Format(time.RFC3339))
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "events in %s: %s, of %s\n", s.Month, counted, of)
	return err
}
