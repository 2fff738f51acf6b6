// Package enrichtest makes geo files for tests.
package enrichtest

import (
	"net"
	"os"
	"testing"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"
)

// MaxMind is a record in the shape of GeoLite2 City and DB-IP.
func MaxMind(country, region, city string) mmdbtype.Map {
	return mmdbtype.Map{
		"country":      mmdbtype.Map{"iso_code": mmdbtype.String(country), "names": names(country)},
		"subdivisions": mmdbtype.Slice{mmdbtype.Map{"iso_code": mmdbtype.String("X"), "names": names(region)}},
		"city":         mmdbtype.Map{"names": names(city)},
	}
}

func names(name string) mmdbtype.Map {
	return mmdbtype.Map{"de": mmdbtype.String("auf deutsch"), "en": mmdbtype.String(name)}
}

// Flat is a record of texts, as ip-location-db and IPinfo have them.
func Flat(fields map[string]string) mmdbtype.Map {
	m := mmdbtype.Map{}
	for name, value := range fields {
		m[mmdbtype.String(name)] = mmdbtype.String(value)
	}
	return m
}

// Write writes a file of records by network, such as "203.0.113.0/24".
func Write(tb testing.TB, path string, records map[string]mmdbtype.Map) {
	tb.Helper()
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: "test", IncludeReservedNetworks: true})
	if err != nil {
		tb.Fatal(err)
	}
	for network, record := range records {
		_, n, err := net.ParseCIDR(network)
		if err != nil {
			tb.Fatal(err)
		}
		if err := tree.Insert(n, record); err != nil {
			tb.Fatal(err)
		}
	}
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	if _, err := tree.WriteTo(f); err != nil {
		tb.Fatal(err)
	}
}
