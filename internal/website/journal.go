package website

import (
	"time"

	"github.com/millrace/millrace/internal/audit"
	"github.com/millrace/millrace/internal/control"
)

// Action is what was done to a website, as the audit calls it.
type Action string

// The actions.
const (
	ActionCreated     Action = "created"
	ActionUpdated     Action = "updated"
	ActionPublished   Action = "published"
	ActionUnpublished Action = "unpublished"
	ActionRotated     Action = "clientIdRotated"
	ActionDeleted     Action = "deleted"
	ActionRestored    Action = "restored"
	ActionPurged      Action = "purged"
)

// resource is what the audit calls a website.
const resource = "website"

// Entry is how the audit remembers what was done: was is nil for a new website.
func Entry(action Action, was, is *Website, by audit.By) audit.Entry {
	return audit.New(by, is.OrganizationID, resource, string(action), is.UpdatedAt).
		Of(is.ID, is.Name).With(diff(was, is))
}

// PurgeEntry is how the audit remembers that a website is gone for good.
func PurgeEntry(w *Website, by audit.By, at time.Time) audit.Entry {
	return audit.New(by, w.OrganizationID, resource, string(ActionPurged), at).Of(w.ID, w.Name)
}

func diff(was, is *Website) map[string]audit.Change { return audit.Diff(was.view(), is.view()) }

// News is what other processes are told: was is nil for a new website.
func News(was, is *Website) control.Change {
	c := control.Change{
		Kind: control.Website, ID: is.ID, OrganizationID: is.OrganizationID, Version: is.Version,
		Gone: !is.DeletedAt.IsZero(), At: is.UpdatedAt,
	}
	seen := map[string]bool{"": true}
	for _, w := range []*Website{was, is} {
		if w == nil {
			continue
		}
		for _, ref := range []string{w.ID, w.ClientID, w.OldClientID} {
			if !seen[ref] {
				seen[ref] = true
				c.Refs = append(c.Refs, ref)
			}
		}
	}
	return c
}

// view returns the fields that the audit compares, by their names on the wire.
func (w *Website) view() map[string]any {
	if w == nil {
		return nil
	}
	return map[string]any{
		"name": w.Name, "domain": w.Domain, "timezone": w.Timezone, "isPublic": w.Public,
		"clientId": w.ClientID, "oldClientIdUntil": instant(w.OldClientIDUntil), "deletedAt": instant(w.DeletedAt),
		"settings.allowedOrigins": w.AllowedOrigins, "settings.allowedIps": w.AllowedIPs,
		"settings.excludedPaths": w.ExcludedPaths, "settings.excludedIps": w.ExcludedIPs,
		"settings.maskPatterns": w.MaskPatterns, "settings.anonymizeVisitorIds": w.AnonymizeVisitorIDs,
		"settings.sessionTimeoutMinutes": w.SessionTimeoutMinutes, "settings.botFilter": !w.KeepBots,
		"settings.honorGlobalPrivacyControl": w.HonorGlobalPrivacyControl, "settings.honorDoNotTrack": w.HonorDoNotTrack,
		"settings.dataRetentionDays": days(w.DataRetentionDays), "settings.trackQueryParams": w.TrackQueryParams,
	}
}

// instant writes a time as the wire does.
func instant(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func days(n int) any {
	if n == 0 {
		return nil
	}
	return n
}
