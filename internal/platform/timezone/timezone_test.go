package timezone

import (
	"slices"
	"testing"
)

// What the machine has besides are files, not zones; and a zone has one spelling.
func TestZonesAreThoseThatIANALists(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"localtime", "posixrules", "Factory", "Local", "local", "posix/Europe/Berlin", "right/Europe/Berlin", "right/UTC",
		"./UTC", "Europe//Berlin", "Europe/./Berlin", "Europe/Berlin/", "/Europe/Berlin", "europe/berlin", "Europe", " UTC",
		"Europe/Berlin\n", "zone.tab", "Europe/Berlin\x00", "../zoneinfo/UTC", "Africa/Abidjan\nAfrica/Accra",
	} {
		if z, err := Load(name); err == nil {
			t.Errorf("%q is the zone %v", name, z)
		}
	}
	names := slices.Collect(Names())
	if !slices.IsSorted(names) || len(names) != len(known()) {
		t.Errorf("%d names of zones, %d of them different", len(names), len(known()))
	}
	for _, name := range append(names, "") {
		if _, err := Load(name); err != nil {
			t.Errorf("%q is no zone: %v", name, err)
		}
	}
}
