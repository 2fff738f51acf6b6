package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/managed"
)

var folderTests = map[string]func(*testing.T, *Fixture){
	"an organization has as many links, tags and folders as it may": func(t *testing.T, f *Fixture) {
		o, s := f.Organization(), f.links(2)
		first := f.link(s, o.ID, link.Fields{})
		f.link(s, o.ID, link.Fields{})
		create := func() error {
			_, err := s.Create(t.Context(), somebody, o.ID, link.Fields{URL: new("https://example.com")})
			return err
		}
		if err := create(); !errors.Is(err, link.ErrTooMany) {
			t.Errorf("one more link = %v, want %v", err, link.ErrTooMany)
		}
		if _, err := s.Delete(t.Context(), somebody, toLink(first)); err != nil {
			t.Fatal(err)
		}
		if err := create(); err != nil {
			t.Errorf("in the place of a deleted one: %v", err)
		}
		if _, err := s.Restore(t.Context(), somebody, toLink(first)); !errors.Is(err, link.ErrTooMany) {
			t.Errorf("restoring beyond the limit = %v, want %v", err, link.ErrTooMany)
		}
		store, other := f.Store(), f.Organization()
		tagged := &link.Link{
			Record: managed.New("lnk", other.ID, "", Start), Slug: "tagged", URL: "https://example.com", RedirectStatus: 302,
			Tags: []string{"a", "b"},
		}
		if err := store.CreateLink(t.Context(), somebody, tagged,
			link.Caps{Links: 9, Tags: 1}); !errors.Is(err, link.ErrTooMany) {
			t.Errorf("one more tag = %v, want %v", err, link.ErrTooMany)
		}
		if err := store.CreateLink(t.Context(), somebody, tagged, link.Caps{Links: 9, Tags: 2}); err != nil {
			t.Errorf("as many tags as there may be: %v", err)
		}
		for tags, want := range map[string]error{"a": nil, "c": link.ErrTooMany, "a b": nil, "b c": link.ErrTooMany} {
			another := &link.Link{
				Record: managed.New("lnk", other.ID, "", Start), Slug: "with-" + strings.ReplaceAll(tags, " ", "-"),
				URL: "https://example.com", RedirectStatus: 302, Tags: strings.Fields(tags),
			}
			if err := store.CreateLink(t.Context(), somebody, another, link.Caps{Links: 9, Tags: 2}); !errors.Is(err, want) {
				t.Errorf("another link with the tags %s: %v, want %v", tags, err, want)
			}
		}
		for i, want := range []error{nil, link.ErrTooMany} {
			folder := &link.Folder{Record: managed.New("fld", other.ID, "", Start)}
			folder.Name = fmt.Sprint("folder ", i)
			if err := store.CreateFolder(t.Context(), somebody, folder, 1); !errors.Is(err, want) {
				t.Errorf("folder %d: %v, want %v", i, err, want)
			}
		}
	},
	"a folder has a name of its own, and leaves its links behind": func(t *testing.T, f *Fixture) {
		o, other, s := f.Organization(), f.Organization(), f.links(10)
		folder, err := s.CreateFolder(t.Context(), somebody, o.ID, "Ads")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.CreateFolder(t.Context(), somebody, o.ID, "ADS"); !errors.Is(err, link.ErrFolderNameTaken) {
			t.Errorf("a second one = %v, want %v", err, link.ErrFolderNameTaken)
		}
		if _, err := s.CreateFolder(t.Context(), somebody, other.ID, "Ads"); err != nil {
			t.Errorf("another organization's: %v", err)
		}
		if _, err := s.Create(t.Context(), somebody, other.ID,
			link.Fields{URL: new("https://example.com"), FolderID: &folder.ID}); !errors.Is(err, link.ErrFolderNotFound) {
			t.Errorf("a link in another organization's folder = %v, want %v", err, link.ErrFolderNotFound)
		}
		in := f.link(s, o.ID, link.Fields{Slug: new("inside"), FolderID: &folder.ID})
		f.link(s, o.ID, link.Fields{Slug: new("outside")})
		if got := f.slugs(s, link.Filter{OrganizationID: o.ID, FolderID: folder.ID}); len(got) != 1 || got[0] != "inside" {
			t.Errorf("inside: %q", got)
		}
		if got := f.slugs(s, link.Filter{OrganizationID: o.ID, Unfiled: true}); len(got) != 1 || got[0] != "outside" {
			t.Errorf("outside: %q", got)
		}
		target := managed.Target{OrganizationID: o.ID, Ref: folder.ID, Version: 1}
		if renamed, err := s.RenameFolder(t.Context(), somebody, target, "Posts"); err != nil || renamed.Version != 2 {
			t.Errorf("RenameFolder() = %+v, %v", renamed, err)
		}
		if _, err := s.DeleteFolder(t.Context(), somebody, target); !errors.Is(err, managed.ErrChanged) {
			t.Errorf("deleting by an old version = %v, want %v", err, managed.ErrChanged)
		}
		target.Version = 2
		if _, err := s.DeleteFolder(t.Context(), somebody, target); err != nil {
			t.Fatal(err)
		}
		if l, err := s.Get(t.Context(), link.Ref{OrganizationID: o.ID, ID: in.ID}); err != nil || l.FolderID != "" {
			t.Errorf("the link is in folder %q, %v", l.FolderID, err)
		}
		if all, err := s.ListFolders(t.Context(), o.ID, "", 0); len(all) != 0 || err != nil {
			t.Errorf("folders %v, %v", all, err)
		}
	},
}
