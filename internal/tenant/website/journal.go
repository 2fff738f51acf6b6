package website

import (
	"time"

	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// The actions that only websites have.
const (
	Published   managed.Action = "published"
	Unpublished managed.Action = "unpublished"
	Rotated     managed.Action = "clientIdRotated"
	HandedOver  managed.Action = "moved"
	Purged      managed.Action = "purged"
)

// Noun is how websites are told of.
var Noun = managed.Noun[*Website]{
	Type: "website", Kind: control.Website, View: (*Website).view,
	Refs: func(w *Website) []string { return []string{w.ID, w.ClientID, w.OldClientID} },
}

// PurgeEntry is how the audit remembers that a website is gone for good.
func PurgeEntry(w *Website, by audit.By, at time.Time) audit.Entry {
	return audit.New(by, w.OrganizationID, Noun.Type, string(Purged), at).Of(w.ID, w.Name)
}

// view returns the fields that the audit compares, by their names on the wire.
func (w *Website) view() map[string]any {
	return map[string]any{
		"name": w.Name, "domain": w.Domain, "timezone": w.Timezone, "isPublic": w.Public,
		"clientId": w.ClientID, "oldClientIdUntil": wire.Time(w.OldClientIDUntil), "deletedAt": wire.Time(w.DeletedAt),
		"settings.allowedOrigins": w.AllowedOrigins, "settings.allowedIps": w.AllowedIPs,
		"settings.excludedPaths": w.ExcludedPaths, "settings.excludedIps": w.ExcludedIPs,
		"settings.maskPatterns": w.MaskPatterns, "settings.anonymizeVisitorIds": w.AnonymizeVisitorIDs,
		"settings.sessionTimeoutMinutes": w.SessionTimeoutMinutes, "settings.botFilter": !w.KeepBots,
		"settings.honorGlobalPrivacyControl": w.HonorGlobalPrivacyControl, "settings.honorDoNotTrack": w.HonorDoNotTrack,
		"settings.dataRetentionDays": wire.OrNull(w.DataRetentionDays), "settings.trackQueryParams": w.TrackQueryParams,
	}
}
