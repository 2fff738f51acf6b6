package link

import (
	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// Noun is how links are told of: that a password changed is told, its hash is not.
var Noun = managed.Noun[*Link]{
	Type: "link", Kind: control.Link, View: (*Link).view, Secret: []string{"password"}, Refs: (*Link).refs,
}

// refs is what hosts find the link by.
func (l *Link) refs() []string { return []string{l.Key()} }

// Domains is how domains are told of: as change events of links that name none, at which hosts read
// the Directory anew.
var Domains = managed.Noun[*Domain]{
	Type: "linkDomain", Kind: control.Link, View: (*Domain).view, Refs: func(*Domain) []string { return nil },
}

// view returns the fields that the audit compares, by their names on the wire.
func (d *Domain) view() map[string]any {
	return map[string]any{
		"hostname": d.Name, "status": string(d.Status), "rootUrl": wire.OrNull(d.RootURL),
		"notFoundUrl": wire.OrNull(d.NotFoundURL),
		"expiredUrl":  wire.OrNull(d.ExpiredURL), "caseSensitive": d.CaseSensitive, "problem": wire.OrNull(d.Problem),
		"pointsHere": d.PointsHere, "deletedAt": wire.Time(d.DeletedAt),
	}
}

// Folders is how folders are told of.
var Folders = managed.Noun[*Folder]{
	Type: "linkFolder", View: func(f *Folder) map[string]any {
		return map[string]any{"name": f.Name, "deletedAt": wire.Time(f.DeletedAt)}
	},
}

// view returns the fields that the audit compares, by their names on the wire.
func (l *Link) view() map[string]any {
	return map[string]any{
		"domain": wire.OrNull(l.Hostname), "slug": l.Slug, "url": l.URL, "name": wire.OrNull(l.Name),
		"folderId": wire.OrNull(l.FolderID), "tags": l.Tags,
		"externalId": wire.OrNull(l.ExternalID), "enabled": l.Enabled, "startsAt": wire.Time(l.StartsAt),
		"expiresAt": wire.Time(l.ExpiresAt), "expiredUrl": wire.OrNull(l.ExpiredURL), "maxClicks": wire.OrNull(l.MaxClicks),
		"password": wire.OrNull(l.PasswordHash), "redirectStatus": l.RedirectStatus, "forwardQuery": l.ForwardQuery,
		"utm": wire.OrNull(l.UTM), "rules": l.Rules, "variants": l.Variants, "preview": wire.OrNull(l.Preview),
		"deletedAt": wire.Time(l.DeletedAt),
	}
}
